#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>

#include <cstddef>
#include <expected>
#include <string>

namespace coracle::fs {

/// A small file that was read completely. Its content may be secret.
struct file_text {
    secret text;
    /// True if others than its owner may read it.
    bool others_may_read = false;
};

/// Reads a regular file of at most `limit` bytes; a longer one fails with `errc::limit_exceeded`,
/// what is no regular file with `std::errc::invalid_argument`, and else as open(2) and read(2) do,
/// each with the path as subject. Blocks for as long as the disk takes, but never on a FIFO.
std::expected<file_text, error> read_file(const std::string& path, std::size_t limit);

/// Reads a file as `read_file` does, and pipes and devices to their end, however long that takes; a
/// FIFO without a writer ends at once.
std::expected<file_text, error> read_file_or_pipe(const std::string& path, std::size_t limit);

}  // namespace coracle::fs
