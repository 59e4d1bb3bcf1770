#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <cstddef>
#include <cstdint>

namespace coracle::fs::detail {

/// The most bytes that the loop's thread copies out of the page cache in one go: some 40 µs.
inline constexpr std::size_t most_bytes_at_once = 256 * 1024;

/// Makes the system call of `op`, and repeats it if a signal interrupts it. Returns its result, or
/// a negated errno. Blocks, so not for the thread of a loop with a pool, which debug builds assert.
std::int64_t perform(const file_operation& op) noexcept;

/// Makes the call if the kernel can do it from memory: reads of the page cache, at most
/// `most_bytes_at_once`, unless O_DIRECT in `flags` says that there is none; opening of cached
/// names. Returns -EAGAIN if it cannot, or if that is unknown. Never blocks.
std::int64_t perform_from_memory(const file_operation& op) noexcept;

}  // namespace coracle::fs::detail
