#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <expected>

namespace coracle::fs::detail {

/// One more descriptor of what is open as `fd` (fcntl(2), F_DUPFD_CLOEXEC).
std::expected<owned_fd, error> duplicate(int fd);

}  // namespace coracle::fs::detail
