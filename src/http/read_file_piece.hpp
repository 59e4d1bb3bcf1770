#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace coracle::http::detail {

/// The largest piece of a file that is read at once to be sent, in bytes.
inline constexpr std::size_t largest_file_piece = 64 * 1024;

/// Reads from an open file at `offset` until `into` is full or the file ends: the number of bytes.
/// Where it has to wait for the disk a thread does, and the loop goes on. `fd` and `into` must live
/// until this has completed. Fails with ENODATA, as `operation`, a literal, where there is nothing.
task<std::expected<std::size_t, error>> read_file_piece(int fd, std::uint64_t offset,
                                                        std::span<char> into,
                                                        const char* operation);

}  // namespace coracle::http::detail
