#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/coding.hpp>

#include <expected>
#include <memory>
#include <string>

namespace coracle::http::detail {

/// Compresses a whole open file; returns null if that saves less than a twentieth. Fails if the
/// file cannot be read, or has changed since its status was read. Blocks.
std::expected<std::shared_ptr<const std::string>, error> compress_file(const fs::plain_file& file,
                                                                       content_coding coding);

}  // namespace coracle::http::detail
