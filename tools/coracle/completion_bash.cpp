#include "completion.hpp"

#include <sstream>

namespace coracle::tool {
namespace {

/// Returns "'a'|'b'", a pattern of `case`.
std::string any_of(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "'" : "|'") + word + '\'';
    return out;
}

std::string joined(const std::vector<std::string>& words) {
    std::string out;
    for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
    return out;
}

const char* completer(value_kind kind) {
    if (kind == value_kind::file) return "_coracle_names -f";
    return kind == value_kind::directory ? "_coracle_names -d" : ":";
}

/// Writes the branches for the values of options.
void write_values(std::ostringstream& out, const command_entry& command) {
    for (const option_entry& o : command.options) {
        if (o.value.empty()) continue;
        std::vector<std::string> patterns;
        for (const std::string& name : o.names) patterns.push_back(command.name + ' ' + name);
        out << "        " << any_of(patterns) << ") ";
        // An optional value stands behind "=" only.
        if (o.value_is_optional) out << "if [[ -n $behind_equals ]]; then ";
        if (o.kind == value_kind::choice) {
            out << "_coracle_words '" << joined(o.choices) << '\'';
        } else {
            out << completer(o.kind);
        }
        out << (o.value_is_optional ? "; return; fi ;;\n" : "; return ;;\n");
    }
}

void write_command(std::ostringstream& out, const command_entry& command) {
    std::vector<std::string> options;
    for (const option_entry& o : command.options) {
        options.insert(options.end(), o.names.begin(), o.names.end());
    }
    std::vector<std::string> words;
    for (const command_entry& each : command.commands) words.push_back(each.last_name());
    out << "        '" << command.name << "')\n            if [[ $cur == -* ]]; then\n"
        << "                _coracle_words '" << joined(options) << "'\n";
    for (const argument_entry& a : command.arguments) {
        if (a.kind == value_kind::choice) words = a.choices;
    }
    if (!words.empty()) {
        out << "            else\n                _coracle_words '" << joined(words) << "'\n";
    } else if (!command.arguments.empty()) {
        out << "            else\n                " << completer(command.arguments.front().kind)
            << '\n';
    }
    out << "            fi ;;\n";
}

constexpr const char* helpers = R"(# bash completion for coracle; made by `coracle completion bash`.

_coracle_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_coracle_names() {
    compopt -o filenames
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
}
_coracle() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}
    local command=coracle behind_equals= word
    COMPREPLY=()
    # "--option=value" comes as three words.
    if [[ $cur == = ]]; then
        cur= behind_equals=yes
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]} behind_equals=yes
    fi
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$command $word" in
)";

}  // namespace

std::string bash_completion(const command_entry& root) {
    std::ostringstream out;
    out << helpers;
    const std::vector<const command_entry*> all = all_commands(root);
    std::vector<std::string> below;
    for (const command_entry* each : all) {
        if (each != &root) below.push_back(each->name);
    }
    out << "            " << any_of(below)
        << ") command+=\" $word\" ;;\n        esac\n    done\n"
           "    case \"$command $prev\" in\n";
    for (const command_entry* each : all) write_values(out, *each);
    out << "    esac\n    case $command in\n";
    for (const command_entry* each : all) write_command(out, *each);
    out << "    esac\n}\ncomplete -F _coracle coracle\n";
    return out.str();
}

}  // namespace coracle::tool
