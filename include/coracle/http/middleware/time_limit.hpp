#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/runtime/clock.hpp>

namespace coracle::http {

/// Middleware that cancels a handler which takes longer than `limit` to make its response, and
/// responds with 504 in its place. The limit is a deadline that reaches all that the handler
/// awaits, calls of a client among them (`this_task::deadline`). The body of a streamed response
/// has the time of the server (`timeouts`).
class time_limit {
public:
    explicit time_limit(duration limit) noexcept : limit_(limit) {}
    task<response> operator()(request& req, const handler& next) const;

private:
    duration limit_;
};

}  // namespace coracle::http
