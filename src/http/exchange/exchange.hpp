#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstdint>

namespace coracle::http::detail {

/// One request and its response, for every version of HTTP.
struct exchange {
    request req;
    response res;
    task<response> pending;  ///< the handler's task, when it is a coroutine
    time_point started;
    std::uint64_t body_bytes = 0;  ///< of the response, as sent
    exchange* next_free = nullptr;

    /// Clears everything and keeps the memory for the next exchange.
    void clear() noexcept {
        if (pending) pending.reset();
        res.clear();
        req.clear();
        body_bytes = 0;
    }
};

}  // namespace coracle::http::detail
