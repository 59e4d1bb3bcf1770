#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/http/version.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>
#include <coracle/tls/certificate.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::http {

/// The times at which the parts of a call were done, counted from its beginning; with several
/// attempts, those of the last one. Zero: there was no such part (a connection was reused), or the
/// call has not reached it.
struct call_timings {
    duration begun{};       ///< the last attempt began
    duration queued{};      ///< a connection was free, or could be opened
    duration resolved{};    ///< the first address of the host was known
    duration connected{};   ///< TCP
    duration tunnelled{};   ///< the proxy had connected to the host
    duration secured{};     ///< TLS, including the wait for other handshakes
    duration sent{};        ///< the request, its body included, was given to the system
    duration first_byte{};  ///< the head of the response was received
    duration ended{};       ///< the last byte of the body was received
};

/// Facts about a response besides the message itself: its origin, its connection, its timings. A
/// regular value type.
struct response_info {
    /// The URL of the response, after redirects.
    coracle::url url;
    net::address peer;
    http::version version = http::version::http_1_1;
    std::uint32_t stream = 0;  ///< number of the HTTP/2 stream; else 0
    unsigned attempts = 1;     ///< of the last request
    unsigned redirects = 0;    ///< redirects followed
    unsigned retries = 0;      ///< of all requests of the call so far
    bool reused = false;       ///< the connection had carried requests before
    /// The last attempt could have been retried, but the client's budget of retries was used up.
    bool retry_held_back = false;
    /// The content codings that were removed from the body, in the order in which the server
    /// applied them; identity: none. Content-Encoding is removed from the fields then. A validator
    /// (ETag) of the response remains that of the coded body.
    std::array<content_coding, 2> decoded{};
    bool is_decoded() const noexcept { return decoded[0] != content_coding::identity; }
    /// Names of the TLS version and cipher; empty without TLS. They live as long as the program.
    std::string_view tls_version;
    std::string_view cipher;
    /// The certificate of the origin, false without TLS. It is unverified where
    /// `client_options::insecure` is set.
    tls::certificate certificate;
    /// Sizes of the last request and its response, with their heads; heads of HTTP/2 count
    /// uncompressed.
    std::uint64_t bytes_sent = 0;
    std::uint64_t bytes_received = 0;
    call_timings times;  ///< for a failed call, `ended` is the time of the failure
};

/// Returns the facts that a client knew about a call when it failed with this error: the peer, the
/// bytes in both directions, the timings so far. Null for errors from elsewhere. Valid as long as
/// the error or a copy of it.
const response_info* info_of(const error& e) noexcept;

}  // namespace coracle::http
