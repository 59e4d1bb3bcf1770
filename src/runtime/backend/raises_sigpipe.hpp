#pragma once

#include <sys/stat.h>

namespace coracle::detail {

/// Returns true for a pipe or a socket: writing to one whose reader is gone raises SIGPIPE.
inline bool raises_sigpipe(int fd) noexcept {
    struct stat s{};
    return ::fstat(fd, &s) == 0 && (S_ISFIFO(s.st_mode) || S_ISSOCK(s.st_mode));
}

}  // namespace coracle::detail
