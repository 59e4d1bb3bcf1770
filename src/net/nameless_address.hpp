#pragma once

#include <coracle/net/address.hpp>

namespace coracle::net::detail {

/// The address of a Unix socket that is bound to no path, as the peers of one that listens have.
address nameless_unix_address();

}  // namespace coracle::net::detail
