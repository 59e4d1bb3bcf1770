#pragma once

#include <CLI/CLI.hpp>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace coracle::tool {

/// One value for each use of the option, taken literally: brackets do not make a list.
inline CLI::Option* as_often_as_wanted(CLI::Option* o) {
    return o->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
}

/// Lets the last value count of each option of `command` and of those below it that is given more
/// than once and takes one value, as is usual where a script or an alias has it already.
inline void let_the_last_count(CLI::App& command) {
    for (CLI::Option* o : command.get_options()) {
        const bool takes_one = o->get_multi_option_policy() == CLI::MultiOptionPolicy::Throw &&
                               o->get_items_expected_max() == 1;
        if (takes_one && !o->get_positional()) {
            o->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
        }
    }
    for (CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
        let_the_last_count(*below);
    }
}

/// A check for numbers of a range. CLI::Range accepts NaN, which is neither below nor above.
template <class T>
CLI::Validator number_between(T least, T most) {
    const auto check = [range = CLI::Range(least, most)](std::string& text) {
        T value{};
        if constexpr (std::is_floating_point_v<T>) {
            if (CLI::detail::lexical_cast(text, value) && std::isnan(value)) {
                return "Value " + text + " is not a number";
            }
        }
        return range(text);
    };
    return {check, ""};
}

inline CLI::Option* add_text(CLI::App& command, const char* group, const char* names,
                             std::string& into, const char* type, const char* what) {
    return command.add_option(names, into, what)->type_name(type)->group(group);
}

/// Refuses an empty text: mostly that of a variable which is not set.
inline CLI::Option* not_empty(CLI::Option* option) {
    return option->check(CLI::Validator(
        [](const std::string& text) { return text.empty() ? "it is empty" : ""; }, ""));
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
        ->check(number_between(least, most))
        ->group(group);
}

}  // namespace coracle::tool
