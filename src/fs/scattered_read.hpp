#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace coracle::fs::detail {

/// The most places that `read_if_in_memory` fills at once.
inline constexpr std::size_t most_places = 8;

/// Fills places one after the other from an open file at `offset`. Returns their size, or 0 unless
/// all of it is in memory: it never waits for the disk, but where the file system cannot tell.
/// Thread-safe.
std::size_t read_if_in_memory(int fd, std::uint64_t offset,
                              std::span<const std::span<char>> places) noexcept;

}  // namespace coracle::fs::detail
