#include "fs/duplicate.hpp"

#include <fcntl.h>

#include <cerrno>

namespace coracle::fs::detail {

std::expected<owned_fd, error> duplicate(int fd) {
    owned_fd another(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
    if (another) return another;
    return std::unexpected(error(std::error_code(errno, std::generic_category()), "duplicate"));
}

}  // namespace coracle::fs::detail
