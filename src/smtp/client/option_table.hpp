#pragma once

#include "connect/option_reader.hpp"

#include <coracle/smtp/client_options.hpp>

namespace coracle::smtp::detail {

/// The structs that options are set on.
struct option_target {
    client_options client;
    pool_options pool;
};

/// Every member of client_options and pool_options.
const connect::detail::option_family& option_family() noexcept;

}  // namespace coracle::smtp::detail
