#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace coracle::redis::detail {

/// The parts of a URL of a server.
struct server_address {
    std::string host = {};  ///< empty with a path
    std::string path = {};  ///< of a Unix socket; "@name" is an abstract one
    std::uint16_t port = 0;
    bool secure = false;
    std::string user = {};
    secret password = {};
    unsigned database = 0;

    /// Fails with `invalid_argument`, and never names the password.
    static std::expected<server_address, error> parse(std::string_view text);

    /// The name in errors and in the log.
    std::string name() const;
};

}  // namespace coracle::redis::detail
