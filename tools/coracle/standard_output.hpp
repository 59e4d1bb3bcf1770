#pragma once

#include <cstdio>

namespace coracle::tool {

/// Writes what standard output still holds. Returns false, and says so on standard error, where not
/// all of it could be written.
inline bool finish_standard_output() {
    if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return true;
    std::fprintf(stderr, "coracle: standard output cannot be written\n");
    return false;
}

}  // namespace coracle::tool
