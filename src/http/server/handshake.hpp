#pragma once

#include <coracle/net/socket.hpp>
#include <coracle/tls/error.hpp>
#include <coracle/tls/stream.hpp>

#include <expected>
#include <optional>

namespace coracle::http::detail {

/// A client that is ready for its first request.
struct accepted_connection {
    std::unique_ptr<net::byte_stream> stream;
    const tls::session_info* secured = nullptr;  ///< the same, when it is encrypted
    buffer received;                             ///< read from it already
    std::optional<net::address> source;          ///< whom the peer speaks for
};

/// The messages before HTTP on a connection: the header of a proxy, and the handshake of TLS.
class handshake {
public:
    /// `context`: null for a connection that is not encrypted.
    handshake(std::unique_ptr<net::socket> s, tls::server_context* context, bool by_proxy) noexcept
        : socket_(std::move(s)), context_(context), by_proxy_(by_proxy) {}

    /// Returns the client, or the error.
    task<std::expected<accepted_connection, error>> run();

private:
    task<bool> receive_more();
    task<bool> read_proxy_header();
    task<bool> shake_hands();
    bool speaks_plain_http() const noexcept;

    std::unique_ptr<net::socket> socket_;
    tls::server_context* context_;
    buffer received_;
    accepted_connection client_;
    error failure_;
    bool by_proxy_;
};

}  // namespace coracle::http::detail
