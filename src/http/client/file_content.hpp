#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/body.hpp>

#include <cstddef>
#include <expected>
#include <string>

namespace coracle::http::detail {

/// The most bytes that are taken from a file which does not say its size.
constexpr std::size_t most_of_unsized_file = std::size_t{16} * 1024 * 1024;

/// A file that is to be sent: a range of it, or the bytes of one that says that it is empty and is
/// not, as those of /proc do.
struct file_content {
    file_range file;
    std::string text;
};

/// Opens a file to be sent. Fails as open(2) does, with `is_a_directory`, or with `file_too_large`
/// for one that does not say its size and has more than `most_of_unsized_file`.
std::expected<file_content, error> open_content(const std::string& path);

}  // namespace coracle::http::detail
