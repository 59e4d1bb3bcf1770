#pragma once

#include <coracle/runtime/clock.hpp>
#include <coracle/websocket/compression.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::websocket {

/// Limits on what a peer may make a connection hold. Counters of the same names are in `counters`.
struct limits {
    /// Bytes of a message that is received whole, decompressed; checked while it is decompressed.
    /// Default 1 MiB. Beyond it close code 1009.
    std::uint64_t message = 1024 * 1024;
    /// Frames of a message. Default 1,024. Beyond it close code 1008.
    std::uint32_t fragments = 1024;
    /// Bytes that wait to be sent; `send` waits while there are more. Default 64 KiB.
    std::size_t unsent = 64 * 1024;
    /// Bytes that `sender::try_send` on other threads has handed over and that have not arrived;
    /// `sender::send` waits, one message of a task at a time. Default 256 KiB.
    std::size_t handed_over = 256 * 1024;
};

/// Zero switches `ping` and `lifetime` off.
struct timeouts {
    /// Silence of the peer after which it is sent a ping. Default 30 s.
    duration ping = std::chrono::seconds(30);
    /// Silence of the peer after which the connection is given up, while it takes none of what is
    /// sent either. Default 120 s.
    duration idle = std::chrono::seconds(120);
    /// From the close frame, once all before it has been sent, to the end of the stream. Default
    /// 5 s.
    duration close = std::chrono::seconds(5);
    /// Sending without any byte of progress. Default 30 s.
    duration write = std::chrono::seconds(30);
    /// Age at which a connection is closed with 1001. Default: none.
    duration lifetime = std::chrono::seconds(0);
    /// How long a handler may go on when its connection has ended, before it is cancelled. Default
    /// 30 s.
    duration handler = std::chrono::seconds(30);
};

/// Options of connections of either side.
struct options {
    websocket::limits limits = {};
    websocket::timeouts timeouts = {};
    compression_options compression = {};
};

/// The sites whose pages may open a connection: browsers send the Origin of the page (RFC 6455
/// section 10.2), and cookies with it. Requests without the field come from no browser, and pass.
class origins {
public:
    /// Only the origin that the request itself was sent to: its host, as the client named it, and
    /// "https" where it came by TLS (`http::client_host` and `client_scheme`, behind proxies that
    /// `trust_proxies` knows).
    static origins same() { return {}; }
    /// Every one: for what is meant for all, and does not look at cookies.
    static origins any() {
        origins o;
        o.any_ = true;
        return o;
    }
    /// These besides the same one: "https://example.com", as browsers write them; "null" for pages
    /// without an origin, such as a sandboxed frame, which any site can have.
    static origins list(std::vector<std::string> allowed) {
        origins o;
        o.list_ = std::move(allowed);
        return o;
    }

    bool is_any() const noexcept { return any_; }
    const std::vector<std::string>& listed() const noexcept { return list_; }

private:
    std::vector<std::string> list_;
    bool any_ = false;
};

/// Options of the connections of a route.
struct route_options : options {
    websocket::origins origins = websocket::origins::same();
    /// The subprotocols that the server speaks, the preferred one first. A client that offers none
    /// of them is accepted without one.
    std::vector<std::string> subprotocols = {};
};

/// Counts of the connections of a route. Each is one number, read without stopping
/// anything.
struct counters {
    std::uint64_t connections = 0;  ///< accepted, or made
    std::uint64_t open = 0;         ///< now
    std::uint64_t refused = 0;      ///< handshakes that were malformed, or of another version
    std::uint64_t origin = 0;       ///< refused for their origin
    std::uint64_t protocol_errors = 0;
    std::uint64_t message_too_big = 0;     ///< `limits::message`
    std::uint64_t too_many_fragments = 0;  ///< `limits::fragments`
    std::uint64_t invalid_data = 0;        ///< text that is not UTF-8, or no deflate
    std::uint64_t pongs_merged = 0;        ///< pings whose pong was that to a later ping
    std::uint64_t idle_timeouts = 0;       ///< `timeouts::idle`
    std::uint64_t close_timeouts = 0;      ///< `timeouts::close`
    std::uint64_t write_timeouts = 0;      ///< `timeouts::write`
    std::uint64_t lifetimes = 0;           ///< closed for `timeouts::lifetime`
    std::uint64_t handler_timeouts = 0;    ///< `timeouts::handler`
    std::uint64_t handler_errors = 0;      ///< an exception left a handler: close code 1011
    std::uint64_t lost = 0;                ///< ended without a close frame
    std::uint64_t slow_readers = 0;  ///< topics: messages dropped, or connections closed with 1013
    std::uint64_t drained = 0;       ///< closed with 1001 because the server drains
};

}  // namespace coracle::websocket
