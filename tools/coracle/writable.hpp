#pragma once

#include <filesystem>
#include <system_error>

namespace coracle::tool {

/// The reason why nothing can be made in the directory of a path; none where that can be done.
std::error_code why_not_made(const std::filesystem::path& path);

/// The reason why a file cannot be written; none where that can be done. One that is not there yet
/// needs a directory that can be written to. Makes and changes none.
std::error_code why_not_written(const std::filesystem::path& path);

}  // namespace coracle::tool
