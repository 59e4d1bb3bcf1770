#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/tls/options.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace coracle::redis {

/// Bounds of one reply. A reply beyond them fails its command with `errc::limit_exceeded` of
/// coracle and ends the connection. Arrays nest at most eight deep; a deeper reply fails with
/// `redis::errc::malformed_reply`, and ends the connection too.
struct reply_limits {
    /// Bytes of all texts of a reply, and of those that have come of it. Default 16 MiB.
    std::size_t bytes = 16 * 1024 * 1024;
    /// Elements of all arrays of a reply together. Default 100,000, some 8 MB.
    std::size_t elements = 100'000;
};

/// The way to a server and the limits of a connection to it.
struct connection_options {
    /// The user and the password of AUTH, before those of the URL. Default: none.
    std::string user = {};
    secret password = {};
    /// Certificates and authorities for rediss://.
    tls::client_options tls = {};
    net::resolver_options resolver = {};
    /// The whole of making a connection: name, TCP, TLS, AUTH; zero: none. Default 5 s.
    duration connect_timeout = std::chrono::seconds(5);
    /// Wait after the first attempt that failed; each further one is twice as long, and each is
    /// shortened by up to a half, by chance; none is below half a millisecond. Default 50 ms.
    duration first_delay = std::chrono::milliseconds(50);
    /// The longest of these waits. Default 5 s.
    duration longest_delay = std::chrono::seconds(5);
    reply_limits reply = {};
};

struct client_options : connection_options {
    /// The longest time from a command to its reply, whatever it waits for. A connection that owes
    /// a reply for that long is given up. Zero: none. Default 5 s.
    duration command_timeout = std::chrono::seconds(5);
    /// Commands of one loop without a reply, and their bytes; one more fails with
    /// `errc::limit_exceeded` of coracle. Default 1,024 and 16 MiB.
    std::size_t queued = 1024;
    std::size_t queued_bytes = 16 * 1024 * 1024;
    /// Lets commands wait, up to `command_timeout`, while the server cannot be reached; otherwise
    /// they fail at once with the error of the last attempt. Default: no.
    bool wait_while_away = false;
};

}  // namespace coracle::redis
