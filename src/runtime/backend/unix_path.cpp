#include "runtime/backend/unix_path.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

namespace coracle::detail {

void remove_stale_socket_file(const endpoint& at, int type) noexcept {
    const auto* const name = reinterpret_cast<const sockaddr_un*>(at.bytes);
    if (at.size <= offsetof(sockaddr_un, sun_path) || name->sun_path[0] == '\0') return;
    struct stat s{};
    if (::lstat(name->sun_path, &s) != 0 || !S_ISSOCK(s.st_mode)) return;
    const int probe = ::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (probe < 0) return;
    const auto* const to = reinterpret_cast<const sockaddr*>(at.bytes);
    if (::connect(probe, to, at.size) != 0 && errno == ECONNREFUSED) ::unlink(name->sun_path);
    ::close(probe);
}

}  // namespace coracle::detail
