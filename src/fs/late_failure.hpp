#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::fs::detail {

/// What could not be written before, as an errno; 0: nothing. Some file systems tell only when a
/// descriptor is closed that the disk is full: one more descriptor asks without giving up the file,
/// so that it can be done before the file has its name. Blocks.
inline int late_failure(int fd) noexcept {
    const int another = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (another < 0) return errno;
    return ::close(another) == 0 || errno == EINTR ? 0 : errno;
}

}  // namespace coracle::fs::detail
