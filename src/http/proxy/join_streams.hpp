#pragma once

#include <coracle/http/response.hpp>
#include <coracle/runtime/task.hpp>

namespace coracle::http::detail {

/// Copies the bytes of each of two streams to the other, until both have ended, one fails, or
/// nothing has passed for `idle`. `ours` must live until then, `theirs` is closed at the end.
task<> join_streams(net::byte_stream& ours, buffer received, detached_connection theirs,
                    duration idle);

}  // namespace coracle::http::detail
