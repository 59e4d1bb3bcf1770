#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace coracle::tool {

/// The kind of value that an option or a command takes, as far as a shell can complete it.
enum class value_kind : unsigned char { none, any, file, directory, choice };

/// An option of a command, with the texts of `--help`.
struct option_entry {
    std::vector<std::string> names;  ///< with their dashes: "-o", "--output"
    std::string value;               ///< "FILE"; empty for a flag
    bool value_is_optional = false;  ///< "--access-log[=FILE]"
    value_kind kind = value_kind::none;
    std::vector<std::string> choices;
    std::string text;
    std::string group;

    std::string summary() const;
};

/// An argument without dashes.
struct argument_entry {
    std::string name;
    value_kind kind = value_kind::any;
    std::vector<std::string> choices;
    bool required = false;
    bool repeated = false;
    std::string text;
};

/// A command with its options and the commands below it.
struct command_entry {
    std::string name;  ///< with those above it: "coracle smtp send"
    std::string about;
    std::string footer;
    std::vector<option_entry> options;
    std::vector<argument_entry> arguments;
    std::vector<command_entry> commands;

    std::string last_name() const;
    /// The first line of `about`.
    std::string summary() const;
};

/// Reads what `app` parses. Commands and options in the group "" are hidden, and left out.
command_entry read_commands(CLI::App& app);

/// Returns `root` and all commands below it, each before those below it.
std::vector<const command_entry*> all_commands(const command_entry& root);

}  // namespace coracle::tool
