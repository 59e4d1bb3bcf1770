#pragma once

#include <coracle/net/inherited.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// An address to listen on, or the sockets of another process that listen there already.
struct endpoint_wanted {
    net::address at;
    bool secure = false;
    std::string text;             ///< the item of `listen` that it comes from
    std::vector<owned_fd> given;  ///< all of one address: one for each loop that they had
    bool is_given() const noexcept { return !given.empty(); }
};

/// Reads `listen`: addresses, of which those that another process has opened take its `sockets`,
/// and "inherited" with or without ":NAME". Takes what it uses out of `sockets`. Throws
/// `exception`.
std::vector<endpoint_wanted> find_endpoints(std::string_view listen, bool has_tls,
                                            std::vector<net::inherited_socket>& sockets);

/// Returns true if an item of `listen` means one of these sockets.
bool has_item_of(std::string_view listen, const std::vector<net::inherited_socket>& sockets);

/// Returns the first port of TCP that `listen` serves over TLS: that of a socket of another
/// process, or the one that stands there, unless the system is to choose it.
std::optional<std::uint16_t> secure_port_of(std::string_view listen, bool has_tls,
                                            const std::vector<net::inherited_socket>& sockets);

}  // namespace coracle::http::detail
