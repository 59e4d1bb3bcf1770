#pragma once

#include <coracle/runtime/backend.hpp>

namespace coracle::detail {

/// Moves up to `op.size` bytes from `from` into the pipe of `op`. Returns a count, 0 at the end, or
/// a negated errno. -EAGAIN: there are no bytes, provided that the pipe has spare capacity.
std::int64_t splice_from(int from, const splice_operation& op) noexcept;

/// Moves all `op.size` bytes from the pipe of `op`, which holds them, into `to`, and sets `op.size`
/// to the rest. Returns 0, or a negated errno. -EAGAIN: `to` is full. Never raises SIGPIPE.
std::int64_t splice_all_to(int to, splice_operation& op) noexcept;

}  // namespace coracle::detail
