#pragma once

#include "http/client/request_head.hpp"

#include <coracle/base/buffer.hpp>

namespace coracle::http::detail {

/// Appends the head of a request (RFC 9112 section 3) to `out`.
void write_h1_head(buffer& out, const outgoing_head& head);

}  // namespace coracle::http::detail
