#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/coding.hpp>
#include <coracle/http/version.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <array>
#include <cstdint>
#include <string_view>

namespace coracle::http {

/// When the parts of a call were done, since it began; of several attempts, those of the last one.
/// Zero: there was no such part (the connection was there already), or it has not been reached.
struct call_timings {
    duration queued{};      ///< a connection could be had, or opened
    duration resolved{};    ///< the first address of the host was there
    duration connected{};   ///< TCP
    duration tunnelled{};   ///< the proxy had connected to the host
    duration secured{};     ///< TLS, with the wait for handshakes before it
    duration sent{};        ///< the request, its body included, was handed to the system
    duration first_byte{};  ///< the head of the answer was there
    duration ended{};       ///< the last byte of the body was there
};

/// What a client knows about an answer beside the message. A regular value type.
struct answer_info {
    /// Where it came from, after redirects.
    coracle::url url;
    net::address peer;
    http::version version = http::version::http_1_1;
    unsigned attempts = 1;   ///< of the last request
    unsigned redirects = 0;  ///< that were followed
    bool reused = false;     ///< the connection had carried requests before
    /// What the body is decoded from, in the order in which it was coded; identity: nothing, or not
    /// twice. Content-Encoding is no longer among the fields then. A validator of the answer is
    /// that of the coded body.
    std::array<content_coding, 2> decoded{};
    bool is_decoded() const noexcept { return decoded[0] != content_coding::identity; }
    /// As TLS names them; empty without it. They live as long as the program.
    std::string_view tls_version;
    std::string_view cipher;
    std::uint64_t bytes_sent = 0;      ///< of the last request, with its head
    std::uint64_t bytes_received = 0;  ///< of its answer, with the head, as it came
    call_timings times;                ///< of a call that failed `ended` is when it did
};

/// What a client knew of a call when it failed with this error: whom it had reached, the bytes in
/// both directions, the timings so far. Null for errors of others. Lives as long as the error, or a
/// copy of it.
const answer_info* info_of(const error& e) noexcept;

}  // namespace coracle::http
