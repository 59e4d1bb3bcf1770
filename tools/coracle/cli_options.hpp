#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace coracle::tool {

/// One value for each use of the option, taken literally: brackets do not make a list.
inline CLI::Option* as_often_as_wanted(CLI::Option* o) {
    return o->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
}

inline CLI::Option* add_text(CLI::App& command, const char* group, const char* names,
                             std::string& into, const char* type, const char* what) {
    return command.add_option(names, into, what)->type_name(type)->group(group);
}

inline CLI::Option* add_list(CLI::App& command, const char* group, const char* names,
                             std::vector<std::string>& into, const char* type, const char* what) {
    return as_often_as_wanted(command.add_option(names, into, what))->type_name(type)->group(group);
}

inline CLI::Option* add_flag(CLI::App& command, const char* group, const char* names, bool& into,
                             const char* what) {
    return command.add_flag(names, into, what)->group(group);
}

template <class T>
CLI::Option* add_number(CLI::App& command, const char* group, const char* names, T& into,
                        const char* type, T least, T most, const char* what) {
    return command.add_option(names, into, what)
        ->type_name(type)
        ->check(CLI::Range(least, most).description(""))
        ->group(group);
}

}  // namespace coracle::tool
