#pragma once

#include <cstddef>
#include <string>

namespace coracle::tool {

/// To be called for each argument that reads the standard input. Throws `failure` for the second:
/// nothing would be left for it.
void use_standard_input();

/// Reads all of a file; "-" is the standard input. Blocks. Throws `unreadable` when it cannot be
/// read, or has more than `most` bytes.
std::string content_of(const std::string& path, std::size_t most = std::string::npos);

}  // namespace coracle::tool
