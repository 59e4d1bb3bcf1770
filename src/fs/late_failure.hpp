#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::fs::detail {

/// Returns the errno of an earlier write that failed late, or 0. Some file systems report only at
/// close that the disk is full: this closes a duplicate, so that the file can be checked before it
/// gets its name. Blocks.
inline int late_failure(int fd) noexcept {
    const int another = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);
    // Without a descriptor, the slow way: what cannot be synced has nothing to report.
    if (another < 0) return ::fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
    return ::close(another) == 0 || errno == EINTR ? 0 : errno;
}

}  // namespace coracle::fs::detail
