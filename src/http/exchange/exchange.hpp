#pragma once

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <utility>

namespace coracle::http::detail {

/// One request and its response, for every version of HTTP.
struct exchange {
    request req;
    response res;
    task<response> pending;  ///< the handler's task, when it is a coroutine
    time_point started;
    std::uint64_t body_bytes = 0;  ///< of the response, as sent
    bool begun = false;            ///< the head of the response is on its way
    exchange* next_free = nullptr;

    /// The most bytes of a response whose memory the next exchange finds.
    static constexpr std::size_t kept_text = 16 * 1024;

    /// Frees the memory of a large response, before `clear`: a loop keeps many exchanges for reuse.
    void drop_large_response() noexcept {
        if (res.body().bytes().size() > kept_text) const response dropped(std::move(res));
    }
    /// Clears everything and keeps the memory for the next exchange.
    void clear() noexcept {
        if (pending) pending.reset();
        res.clear();
        req.clear();
        body_bytes = 0;
        begun = false;
    }
};

}  // namespace coracle::http::detail
