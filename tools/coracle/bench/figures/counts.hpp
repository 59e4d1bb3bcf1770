#pragma once

#include "histogram.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::tool::bench {

/// The reasons why a request has no response.
enum class failure_kind : std::uint8_t {
    connect,    ///< no connection: the name, TCP, or a refused handshake of WebSocket
    tls,        ///< the handshake of TLS
    timeout,    ///< no response within --timeout
    lost,       ///< the connection ended first
    malformed,  ///< what came is no response
    other,
};
inline constexpr std::size_t failure_kinds = 6;
/// "connect", "timeout": as the reports name them.
std::string_view name_of(failure_kind k) noexcept;

/// The figures of a span of time. A request belongs to the figures when it was begun, or in the
/// open model due, after the warm-up.
struct counts {
    /// From 1xx, which stands for a status outside of 200 to 599, to 5xx.
    std::array<std::uint64_t, 5> statuses{};
    std::array<std::uint64_t, failure_kinds> failures{};
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::uint64_t connections = 0;  ///< opened
    /// Requests of the open model that were due, and never begun.
    std::uint64_t unsent = 0;
    /// Nanoseconds; of responses, and of what was waited for in vain as long as that lasted.
    histogram latency;
    /// By how much requests of the open model were sent too late though a connection was free.
    histogram lateness;

    void add_response(unsigned status, std::uint64_t nanoseconds) noexcept {
        const unsigned family = status / 100;
        ++statuses[family >= 2 && family <= 5 ? family - 1 : 0];
        latency.record(nanoseconds);
    }
    void add_failure(failure_kind k) noexcept { ++failures[static_cast<std::size_t>(k)]; }
    void merge(const counts& other) noexcept;
    void clear() noexcept;

    std::uint64_t responses() const noexcept;
    std::uint64_t failed() const noexcept;
    std::uint64_t failed(failure_kind k) const noexcept {
        return failures[static_cast<std::size_t>(k)];
    }
    /// Values of `latency` that are lower bounds: nothing came.
    std::uint64_t waited_in_vain() const noexcept { return failed(failure_kind::timeout) + unsent; }
};

}  // namespace coracle::tool::bench
