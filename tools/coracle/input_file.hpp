#pragma once

#include <cstddef>
#include <string>

namespace coracle::tool {

/// To be called for each argument that reads the standard input. Throws `failure` for the second:
/// nothing would be left for it.
void use_standard_input();

/// Returns true for a FIFO, a device and their like, without opening it: that would show the writer
/// of a FIFO a reader that is gone. False where there is nothing.
bool is_pipe(const std::string& path);

/// Reads all of a file; "-" is the standard input. Blocks. Throws `unreadable` when it cannot be
/// read, or has more than `most` bytes.
std::string content_of(const std::string& path, std::size_t most = std::string::npos);

}  // namespace coracle::tool
