#include <coracle/runtime/owned_fd.hpp>

#include <unistd.h>

namespace coracle {

void close_descriptor(int fd) noexcept {
    if (fd >= 0) ::close(fd);
}

}  // namespace coracle
