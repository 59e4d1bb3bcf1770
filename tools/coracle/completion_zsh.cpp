#include "completion.hpp"

#include <sstream>

namespace coracle::tool {
namespace {

/// Returns a word in quotes. In the specifications of `_arguments` brackets and colons mean
/// something, so they stand behind a backslash.
std::string in_quotes(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + '\'';
}

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
        out += c;
    }
    return out;
}

std::string completer(value_kind kind, const std::vector<std::string>& choices) {
    if (kind == value_kind::file) return "_files";
    if (kind == value_kind::directory) return "_files -/";
    if (kind != value_kind::choice) return " ";
    std::string out = "(";
    for (const std::string& word : choices) out += (out.size() == 1 ? "" : " ") + word;
    return out + ')';
}

std::string function_of(const command_entry& command) {
    std::string name = '_' + command.name;
    for (char& c : name) {
        if (c == ' ') c = '_';
    }
    return name;
}

void write_option(std::ostringstream& out, const option_entry& o) {
    for (const std::string& name : o.names) {
        // "*": may be repeated; the command refuses what may not.
        std::string word = '*' + name;
        if (!o.value.empty()) {
            const bool is_long = name.starts_with("--");
            if (o.value_is_optional) {
                word += is_long ? "=-" : "-";
            } else {
                word += is_long ? "=" : "+";
            }
        }
        word += '[' + escaped(o.summary()) + ']';
        if (!o.value.empty()) {
            word += (o.value_is_optional ? "::" : ":") + escaped(o.value) + ':' +
                    completer(o.kind, o.choices);
        }
        out << "        " << in_quotes(word) << " \\\n";
    }
}

void write_command(std::ostringstream& out, const command_entry& command) {
    const std::string name = function_of(command);
    out << name << "() {\n";
    if (!command.commands.empty()) {
        out << "    local -a commands=(\n";
        for (const command_entry& each : command.commands) {
            out << "        " << in_quotes(escaped(each.last_name()) + ':' + each.summary())
                << '\n';
        }
        out << "    )\n    local state line\n    _arguments -C \\\n";
    } else {
        out << "    _arguments -s -S \\\n";
    }
    for (const option_entry& o : command.options) write_option(out, o);
    if (command.commands.empty()) {
        for (const argument_entry& a : command.arguments) {
            out << "        "
                << in_quotes((a.repeated ? "*:" : ":") + escaped(a.name) + ':' +
                             completer(a.kind, a.choices))
                << " \\\n";
        }
        out << "        && return 0\n    return 1\n}\n";
        return;
    }
    out << "        '1:command:->command' '*::argument:->argument' && return 0\n"
           "    case $state in\n        command) _describe command commands ;;\n"
           "        argument) case $line[1] in\n";
    for (const command_entry& each : command.commands) {
        out << "            " << each.last_name() << ") " << function_of(each) << " ;;\n";
    }
    out << "        esac ;;\n    esac\n}\n";
}

}  // namespace

std::string zsh_completion(const command_entry& root) {
    std::ostringstream out;
    out << "#compdef coracle\n# zsh completion; made by `coracle completion zsh`.\n\n";
    for (const command_entry* each : all_commands(root)) write_command(out, *each);
    // Where the file is autoloaded the function is called at once; where it is sourced, by compdef.
    out << "if [[ $funcstack[1] == _coracle ]]; then\n    _coracle \"$@\"\nelse\n"
           "    compdef _coracle coracle\nfi\n";
    return out.str();
}

}  // namespace coracle::tool
