// Returns freed memory, which the C library keeps, to the system.

#include "base/small_file.hpp"
#include "runtime/backend/system_backend.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <malloc.h>
#include <unistd.h>

#include <charconv>
#include <cstddef>

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
    const small_file file("/proc/self/statm");
    const char* at = file.text().data();
    const char* const end = at + file.text().size();
    std::size_t pages[3] = {};  // in all, resident, shared
    for (std::size_t& n : pages) {
        at = std::from_chars(at, end, n).ptr;
        if (at != end) ++at;
    }
    const auto [all, resident, shared] = pages;
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
