#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/http/fields.hpp>

namespace coracle::http::h1 {

/// Appends the end of a chunked body: the last chunk, and the trailer section (RFC 9112 section
/// 7.1). `trailers` may be null.
void append_body_end(buffer& out, const fields* trailers);

}  // namespace coracle::http::h1
