#pragma once

#include <coracle/base/detail/tally.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/detail/child.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace coracle::net {

/// Counters of a `serve`. One loop writes them; any thread may read them.
struct serve_counters {
    tally accepted;         ///< connections that were given to the handler
    tally paused;           ///< times that `serve_options::connections` were open
    tally accept_failures;  ///< for want of descriptors or memory, say; a pause follows each
    tally handler_errors;   ///< exceptions that left the handler
    tally cut;              ///< handlers that were still at work after `serve_options::drain`
};

/// Options for accepting connections and for ending.
struct serve_options {
    /// Connections that are served at once. While there are so many, others wait in the backlog of
    /// the listener. 0 is taken for 1. Default 10,000.
    std::size_t connections = 10'000;
    /// The pause after an accept that failed, for want of descriptors or memory, say; it doubles
    /// with each further one, and has a millisecond at least. Default 5 ms.
    duration first_pause = std::chrono::milliseconds(5);
    /// The longest of these pauses. Default 1 s.
    duration longest_pause = std::chrono::seconds(1);
    /// The longest time that handlers may go on once `serve` is cancelled; then they are cancelled
    /// too. Default 30 s; zero: they are cancelled at once.
    duration drain = std::chrono::seconds(30);
    /// The counters to update; must live until `serve` has ended. Default: none.
    serve_counters* counters = nullptr;
};

/// A handler of one connection, which it owns. Called for each connection, on the loop of the
/// listener.
using connection_handler = unique_function<task<>(std::unique_ptr<socket>)>;

namespace detail {
operation<> serve_with(listener& l, connection_handler handler, const serve_options& options);
}

/// Accepts connections and runs `handler` for each, as a task of its own, a child of no other:
/// until it is cancelled. Survives temporary failures of accept, after a pause: for want of
/// descriptors or memory (EMFILE, ENFILE, ENOBUFS, ENOMEM) it closes one waiting connection, so
/// that its peer learns of it. An exception that leaves the handler ends its connection, and is
/// counted and logged. `handler` is called as `handler(std::unique_ptr<socket>)`, gives a task, and
/// is kept until all of them have ended; `l` must live until then.
///
/// Resumes on the loop of `l`, on which it must be awaited. Cancelled, it accepts no more, waits
/// for the handlers, cancels those that `serve_options::drain` is too short for, and waits until
/// they have unwound. Fails, after the same steps, when the listener is useless (EBADF, EINVAL) or
/// another task accepts from it (EBUSY).
template <class Handler>
operation<> serve(listener& l, Handler&& handler, const serve_options& options = {}) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(Handler);
    return detail::serve_with(l, connection_handler(std::forward<Handler>(handler)), options);
}

}  // namespace coracle::net
