#pragma once

#include <coracle/fs/plain_file.hpp>
#include <coracle/http/coding.hpp>

#include <expected>
#include <memory>
#include <string>

namespace coracle::http::detail {

/// The whole of an open file in a coding; null when that is not smaller by a twentieth. Fails when
/// the file cannot be read, or is not any more what its status says. Blocks.
std::expected<std::shared_ptr<const std::string>, error> compress_file(const fs::plain_file& file,
                                                                       content_coding coding);

}  // namespace coracle::http::detail
