#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace coracle::http {

struct in_flight_limit_options {
    /// Requests that are handled at a time, on each loop. Default 100.
    std::size_t requests = 100;
    /// Requests that wait for that, on each loop; beyond it they get 503. Default 100; 0: none.
    std::size_t waiting = 100;
    /// How long they wait, before they get 503. Default 1 s.
    duration patience = std::chrono::seconds(1);
    /// When a request has waited for more than this, more come than can be served, and in order of
    /// their coming each would be served late. From then on the newest is served first, and with
    /// each one that comes those that have waited for longer than this get 503, as does the oldest
    /// in place of one beyond `waiting`; until none has waited for so long, for as long again.
    /// Default 100 ms; zero: never.
    duration shed_after = std::chrono::milliseconds(100);
    /// The value of Retry-After, in whole seconds. Default 1 s.
    std::chrono::seconds retry_after = std::chrono::seconds(1);
};

/// Middleware that has a bounded number of requests handled at a time, say of a route that needs
/// much memory or a database, each until its response is there, or a streamed one is out. Others
/// wait in order of their coming, in an overload the newest first (`shed_after`), and get 503 with
/// Retry-After where too many wait, or one for too long. Throws `exception` (invalid_argument) when
/// `requests` is 0.
class in_flight_limit {
public:
    explicit in_flight_limit(in_flight_limit_options options = {});
    handler operator()(handler inner) const;

    /// Requests that were refused, of all loops.
    std::uint64_t refused() const noexcept;

    class shared;

private:
    std::shared_ptr<shared> shared_;
};

}  // namespace coracle::http
