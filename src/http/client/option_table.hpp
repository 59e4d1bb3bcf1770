#pragma once

#include "connect/option_reader.hpp"

#include <coracle/http/client_options.hpp>

#include <span>

namespace coracle::http::detail {

using coracle::connect::detail::option;
using coracle::connect::detail::option_type;

/// The structs that options set.
struct option_target {
    client_options client;
    pool_options pool;
};

/// Returns all options, in the order of the structs: every member of client_options and
/// pool_options.
std::span<const option> option_table() noexcept;
/// Returns the table with its prefixes and aliases, for reading texts.
const coracle::connect::detail::option_family& option_family() noexcept;

}  // namespace coracle::http::detail
