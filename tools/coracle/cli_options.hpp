#pragma once

#include <CLI/CLI.hpp>

namespace coracle::tool {

/// One value each time that it is given, which is taken as it is: one in brackets is no list.
inline CLI::Option* as_often_as_wanted(CLI::Option* o) {
    return o->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->allow_extra_args(false);
}

}  // namespace coracle::tool
