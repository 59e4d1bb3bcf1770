// recv and send as bare system calls. Those of the C library are points at which a thread may be
// cancelled: with more than one thread in the program, glibc executes two locked instructions
// around each call, as expensive as the rest of a short call outside the kernel.

#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CORACLE_UNDER_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define CORACLE_UNDER_SANITIZER 1
#endif
#endif

namespace coracle::detail {

// Sanitizers intercept the calls of the C library; and some architectures lack these two system
// calls.
#if defined(CORACLE_UNDER_SANITIZER) || !defined(SYS_recvfrom) || !defined(SYS_sendto)

inline ssize_t plain_recv(int fd, void* into, std::size_t size, int flags) noexcept {
    return ::recv(fd, into, size, flags);
}
inline ssize_t plain_send(int fd, const void* from, std::size_t size, int flags) noexcept {
    return ::send(fd, from, size, flags);
}

#else

inline ssize_t plain_recv(int fd, void* into, std::size_t size, int flags) noexcept {
    return ::syscall(SYS_recvfrom, fd, into, size, flags, nullptr, nullptr);
}
inline ssize_t plain_send(int fd, const void* from, std::size_t size, int flags) noexcept {
    return ::syscall(SYS_sendto, fd, from, size, flags, nullptr, 0);
}

#endif

}  // namespace coracle::detail
