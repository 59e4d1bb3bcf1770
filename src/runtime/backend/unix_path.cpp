#include "runtime/backend/unix_path.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <ctime>

namespace coracle::detail {
namespace {

/// Tries to lock a directory, one each millisecond.
constexpr int most_tries = 100;

/// Returns an empty descriptor where the directory cannot be read, or stays locked.
owned_fd lock_directory_of(const char* path) noexcept {
    char directory[sizeof(sockaddr_un::sun_path) + 1] = ".";
    if (const char* const slash = std::strrchr(path, '/')) {
        const auto length = static_cast<std::size_t>(slash - path) + 1;
        std::memcpy(directory, path, length);
        directory[length] = '\0';
    }
    owned_fd fd(::open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!fd) return fd;
    for (int tries = 0; tries != most_tries; ++tries) {
        if (::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
        if (errno != EWOULDBLOCK) break;
        constexpr timespec millisecond{0, 1'000'000};
        ::nanosleep(&millisecond, nullptr);
    }
    return owned_fd();
}

void remove_if_stale(const char* path, const endpoint& at, int type) noexcept {
    struct stat s{};
    if (::lstat(path, &s) != 0 || !S_ISSOCK(s.st_mode)) return;
    const owned_fd probe(::socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!probe) return;
    const auto* const to = reinterpret_cast<const sockaddr*>(at.bytes);
    if (::connect(probe.get(), to, at.size) != 0 && errno == ECONNREFUSED) ::unlink(path);
}

}  // namespace

path_claim::path_claim(const endpoint& at, int type) noexcept {
    const auto* const name = reinterpret_cast<const sockaddr_un*>(at.bytes);
    constexpr std::size_t begin = offsetof(sockaddr_un, sun_path);
    if (name->sun_family != AF_UNIX || at.size <= begin || name->sun_path[0] == '\0') return;
    // The kernel's form of an address need not end with a zero.
    char path[sizeof name->sun_path + 1] = "";
    std::memcpy(path, name->sun_path, std::min(at.size - begin, sizeof name->sun_path));
    locked_directory_ = lock_directory_of(path);
    remove_if_stale(path, at, type);
}

}  // namespace coracle::detail
