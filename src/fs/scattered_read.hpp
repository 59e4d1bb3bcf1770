#pragma once

#include <coracle/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace coracle::fs::detail {

/// The most places that `try_read_at` fills at once.
inline constexpr std::size_t most_places = 8;

/// Fills places one after the other from an open file, as `fs::try_read_at` fills one: fails with
/// `std::errc::resource_unavailable_try_again` when not all of it is in memory. Thread-safe.
std::expected<std::size_t, error> try_read_at(int fd, std::uint64_t offset,
                                              std::span<const std::span<char>> places);

}  // namespace coracle::fs::detail
