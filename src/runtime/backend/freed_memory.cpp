// Returns freed memory, which the C library keeps, to the system.

#include "runtime/backend/system_backend.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cstdlib>

#if defined(__GLIBC__) && !CORACLE_POOLS_STAND_ASIDE
#define CORACLE_GIVES_MEMORY_BACK __GLIBC_PREREQ(2, 33)
#else
#define CORACLE_GIVES_MEMORY_BACK 0
#endif

namespace coracle::detail {

#if CORACLE_GIVES_MEMORY_BACK
namespace {

/// The amount of freed memory that is worth a search.
constexpr std::size_t worth_giving = std::size_t{16} * 1024 * 1024;

/// Returns the resident bytes of this process that are of no file (proc(5), statm); 0 where the
/// system does not say.
std::size_t resident_bytes() noexcept {
    const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    char text[128];
    const ssize_t n = ::read(fd, text, sizeof text - 1);
    ::close(fd);
    if (n <= 0) return 0;
    text[n] = '\0';
    char* rest = nullptr;
    static_cast<void>(std::strtoull(text, &rest, 10));
    const unsigned long long resident = std::strtoull(rest, &rest, 10);
    const unsigned long long shared = std::strtoull(rest, &rest, 10);
    if (resident < shared) return 0;
    return static_cast<std::size_t>(resident - shared) *
           static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

/// Returns the resident bytes that are not in use: freed memory, for the most part.
std::size_t freed_bytes(std::size_t resident) noexcept {
    const struct mallinfo2 info = ::mallinfo2();
    const std::size_t used = info.uordblks + info.hblkhd;
    return resident > used ? resident - used : 0;
}

}  // namespace

// The C library returns free memory at the end of its heap only. After a burst of connections some
// block there is still in use, and the pages before it are kept: 970 MB after an attack.
void system_backend::give_memory_back() noexcept {
    const std::size_t resident = resident_bytes();
    if (resident < worth_giving + not_given_back_) return;
    if (freed_bytes(resident) < worth_giving + not_given_back_) return;
    ::malloc_trim(0);
    // The rest is stacks and the like, so only memory freed from now on is considered again.
    not_given_back_ = freed_bytes(resident_bytes());
}
#else
void system_backend::give_memory_back() noexcept {}
#endif

}  // namespace coracle::detail
