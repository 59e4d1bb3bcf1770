#include "completion.hpp"

#include <sstream>

namespace coracle::tool {
namespace {

std::string in_quotes(const std::string& text) {
    std::string out = "'";
    for (const char c : text) {
        if (c == '\'' || c == '\\') out += '\\';
        out += c;
    }
    return out + '\'';
}

std::string words_of(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return in_quotes(out);
}

/// Returns the arguments of `complete` for a value of this kind.
std::string completer(value_kind kind, const std::vector<std::string>& choices) {
    if (kind == value_kind::choice) return " -x -a " + words_of(choices);
    if (kind == value_kind::file) return " -r -F";
    return kind == value_kind::directory ? " -x -a '(__fish_complete_directories)'" : " -x";
}

void write_command(std::ostringstream& out, const command_entry& command) {
    const std::string here =
        "complete -c coracle -n " + in_quotes("test (__coracle_command) = '" + command.name + "'");
    for (const command_entry& each : command.commands) {
        out << here << " -a " << each.last_name() << " -d " << in_quotes(each.summary()) << '\n';
    }
    for (const argument_entry& a : command.arguments) {
        if (a.kind == value_kind::choice) out << here << " -a " << words_of(a.choices) << '\n';
        if (a.kind == value_kind::file) out << here << " -F\n";
        if (a.kind == value_kind::directory) {
            out << here << " -a '(__fish_complete_directories)'\n";
        }
    }
    for (const option_entry& o : command.options) {
        out << here;
        for (const std::string& name : o.names) {
            const bool is_long = name.starts_with("--");
            out << (is_long ? " -l " : " -s ") << name.substr(is_long ? 2 : 1);
        }
        if (!o.value.empty() && !o.value_is_optional) out << completer(o.kind, o.choices);
        out << " -d " << in_quotes(o.summary()) << '\n';
    }
}

}  // namespace

std::string fish_completion(const command_entry& root) {
    std::ostringstream out;
    const std::vector<const command_entry*> all = all_commands(root);
    out << "# fish completion for coracle; made by `coracle completion fish`.\n\n"
           "function __coracle_command\n"
           "    set -l command coracle\n"
           "    for word in (commandline -opc)[2..-1]\n"
           "        if contains -- \"$command $word\"";
    for (const command_entry* each : all) {
        if (each != &root) out << ' ' << in_quotes(each->name);
    }
    out << "\n            set command \"$command $word\"\n        end\n    end\n"
           "    echo $command\nend\n\ncomplete -c coracle -f\n";
    for (const command_entry* each : all) write_command(out, *each);
    return out.str();
}

}  // namespace coracle::tool
