#pragma once

#include "http/exchange/exchange.hpp"
#include "http/server/h1_request_body.hpp"

namespace coracle::http::detail {

/// An exchange over HTTP/1. A loop keeps a few for reuse.
struct h1_exchange : exchange {
    h1_request_body body;
    bool keep_alive = false;  ///< the request allows another one after it
};

}  // namespace coracle::http::detail
