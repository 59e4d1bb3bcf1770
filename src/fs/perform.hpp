#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <cstddef>
#include <cstdint>

namespace coracle::fs::detail {

/// What the loop's thread copies out of the page cache in one go: some 40 µs.
inline constexpr std::size_t most_bytes_at_once = 256 * 1024;

/// The system call of `op`, once, repeated where a signal interrupts it: what it gives, or a
/// negated errno. Blocks for as long as the disk takes: not in the thread of a loop that has a
/// pool, which debug builds assert.
std::int64_t perform(const file_operation& op) noexcept;

/// The same where the kernel can do it from memory: reads of what the page cache has, at most
/// `most_bytes_at_once`; opening by names that are cached. -EAGAIN when it cannot, or when it
/// cannot tell. Never blocks.
std::int64_t perform_from_memory(const file_operation& op) noexcept;

}  // namespace coracle::fs::detail
