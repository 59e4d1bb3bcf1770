#include "command_tree.hpp"

#include <sstream>
#include <string_view>
#include <utility>

namespace coracle::tool {
namespace {

std::string first_line(const std::string& text) {
    return text.substr(0, text.find('\n'));
}

/// Returns the words of an `IsMember`, which says them alone when it refuses a value.
std::vector<std::string> choices_of(CLI::Option& o) {
    constexpr std::string_view before = " not in {";
    std::vector<std::string> words;
    // An option has few validators; past the last one `get_validator` throws.
    for (int index = 0;; ++index) {
        CLI::Validator* check = nullptr;
        try {
            check = o.get_validator(index);
        } catch (const CLI::OptionNotFound&) {
            return words;
        }
        std::string no_value(1, '\x01');
        std::string refusal;
        try {
            refusal = (*check)(no_value);
        } catch (const CLI::Error&) {
            continue;  // one that wants a number
        }
        const std::size_t begin = refusal.find(before);
        if (begin == std::string::npos) continue;
        std::istringstream list(refusal.substr(begin + before.size()));
        for (std::string word; std::getline(list, word, ',');) {
            words.push_back(word.substr(0, word.find('}')));
        }
    }
}

value_kind kind_of(const std::string& type, const std::vector<std::string>& choices) {
    if (!choices.empty()) return value_kind::choice;
    if (type == "DIR") return value_kind::directory;
    return type == "FILE" || type == "PATH" ? value_kind::file : value_kind::any;
}

option_entry read_option(CLI::Option& o) {
    option_entry entry;
    std::istringstream names(o.get_name(false, true));
    for (std::string name; std::getline(names, name, ',');) {
        const std::size_t brace = name.find('{');
        entry.value_is_optional = entry.value_is_optional || brace != std::string::npos;
        entry.names.push_back(name.substr(0, brace));
    }
    if (entry.value_is_optional) {
        entry.value = "FILE";
    } else if (o.get_type_size_max() != 0 && o.get_expected_max() != 0) {
        entry.value = o.get_type_name();
        if (entry.value.starts_with('[') && entry.value.ends_with(']')) {
            entry.value = entry.value.substr(1, entry.value.size() - 2);
            entry.value_is_optional = true;
        }
    }
    entry.choices = choices_of(o);
    if (!entry.value.empty()) entry.kind = kind_of(entry.value, entry.choices);
    entry.text = o.get_description();
    entry.group = o.get_group();
    return entry;
}

argument_entry read_argument(CLI::Option& o) {
    argument_entry entry;
    entry.name = o.get_name(true, false);
    entry.choices = choices_of(o);
    entry.kind = kind_of(entry.name, entry.choices);
    entry.required = o.get_required();
    entry.repeated = o.get_expected_max() > 1;
    entry.text = o.get_description();
    return entry;
}

command_entry read(CLI::App& app, const std::string& above) {
    command_entry entry;
    entry.name = above.empty() ? app.get_name() : above + ' ' + app.get_name();
    entry.about = app.get_description();
    entry.footer = app.get_footer();
    for (CLI::Option* o : app.get_options()) {
        if (o->get_positional()) {
            entry.arguments.push_back(read_argument(*o));
        } else if (!o->get_group().empty()) {
            entry.options.push_back(read_option(*o));
        }
    }
    for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
        if (!command->get_group().empty()) entry.commands.push_back(read(*command, entry.name));
    }
    return entry;
}

void collect(const command_entry& from, std::vector<const command_entry*>& into) {
    into.push_back(&from);
    for (const command_entry& each : from.commands) collect(each, into);
}

}  // namespace

std::string option_entry::summary() const {
    // The first sentence, or as much of it as stands on two lines.
    std::string line;
    for (const char c : text) line += c == '\n' ? ' ' : c;
    const std::size_t end = line.find_first_of(".;:");
    return line.substr(0, end);
}

std::string command_entry::last_name() const {
    return name.substr(name.rfind(' ') + 1);
}

std::string command_entry::summary() const {
    return first_line(about);
}

command_entry read_commands(CLI::App& app) {
    return read(app, "");
}

std::vector<const command_entry*> all_commands(const command_entry& root) {
    std::vector<const command_entry*> all;
    collect(root, all);
    return all;
}

}  // namespace coracle::tool
