#pragma once

#include "http/server/request_body.hpp"

#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

namespace coracle::http::detail {

/// One request and its answer. A loop keeps a few for reuse.
struct exchange {
    request req;
    response res;
    task<response> pending;  ///< the handler's task, when it is a coroutine
    request_body body;
    time_point started;
    std::uint64_t body_bytes = 0;  ///< of the answer, as sent
    bool keep_alive = false;
    bool expects_continue = false;
    exchange* next_free = nullptr;
};

}  // namespace coracle::http::detail
