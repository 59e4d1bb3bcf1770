#include "fs/perform.hpp"

#include "runtime/backend/raises_sigpipe.hpp"
#include "runtime/backend/statx_status.hpp"
#include "runtime/without_sigpipe.hpp"

#include <coracle/runtime/loop.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

namespace coracle::fs::detail {
namespace {

// A slice is laid out as an iovec.
static_assert(sizeof(slice) == sizeof(iovec));
static_assert(offsetof(slice, data) == offsetof(iovec, iov_base));
static_assert(offsetof(slice, size) == offsetof(iovec, iov_len));

const iovec* vectors(const file_operation& op) noexcept {
    return reinterpret_cast<const iovec*>(op.pieces.data());
}
int count(const file_operation& op) noexcept {
    return static_cast<int>(op.pieces.size());
}
char* room(const file_operation& op) noexcept {
    return const_cast<char*>(op.pieces[0].data);
}
off_t position(std::uint64_t offset) noexcept {
    return static_cast<off_t>(offset);
}
int system_flags(const file_operation& op) noexcept {
    return static_cast<int>(op.flags);
}

std::int64_t read_pieces(const file_operation& op) noexcept {
    if (op.offset == file_operation::no_offset) return ::readv(op.fd, vectors(op), count(op));
    return ::preadv(op.fd, vectors(op), count(op), position(op.offset));
}

std::int64_t write_pieces(const file_operation& op) noexcept {
    if (op.offset != file_operation::no_offset) {
        return ::pwritev(op.fd, vectors(op), count(op), position(op.offset));
    }
    const coracle::detail::without_sigpipe quiet(coracle::detail::raises_sigpipe(op.fd));
    const ssize_t n = ::writev(op.fd, vectors(op), count(op));
    const int number = errno;
    // It comes also behind a part that was taken.
    quiet.take_signal();
    errno = number;
    return n;
}

timespec to_timespec(std::uint64_t bits) noexcept {
    const auto ns = static_cast<std::int64_t>(bits);
    timespec t{};
    t.tv_sec = static_cast<time_t>(ns / 1'000'000'000);
    t.tv_nsec = static_cast<long>(ns % 1'000'000'000);
    if (t.tv_nsec < 0) {
        --t.tv_sec;
        t.tv_nsec += 1'000'000'000;
    }
    return t;
}

std::int64_t take_status(const file_operation& op) noexcept {
    struct statx s{};
    const int r = ::statx(op.fd, op.path, system_flags(op), coracle::detail::wanted_status, &s);
    if (r == 0) *op.status = coracle::detail::status_from(s);
    return r;
}

std::int64_t set_mode(const file_operation& op) noexcept {
    if (*op.path == '\0') return ::fchmod(op.fd, op.mode);
    return ::fchmodat(op.fd, op.path, op.mode, 0);
}

std::int64_t set_times(const file_operation& op) noexcept {
    const timespec times[2] = {to_timespec(op.offset), to_timespec(op.size)};
    if (*op.path == '\0') return ::futimens(op.fd, times);
    return ::utimensat(op.fd, op.path, times, system_flags(op));
}

std::int64_t set_lock(const file_operation& op) noexcept {
    struct flock range{};
    range.l_type = static_cast<short>(op.flags);
    range.l_whence = SEEK_SET;
    range.l_start = position(op.offset);
    range.l_len = position(op.size);
    return ::fcntl(op.fd, F_OFD_SETLK, &range);
}

std::int64_t copy_range(const file_operation& op) noexcept {
    auto from = static_cast<off64_t>(op.offset);
    auto to = static_cast<off64_t>(op.other_offset);
    return ::copy_file_range(op.fd, &from, op.other_fd, &to, op.size, 0);
}

std::int64_t call(const file_operation& op) noexcept {
    switch (op.action) {
        case file_action::open: return ::openat(op.fd, op.path, system_flags(op), op.mode);
        case file_action::close: return ::close(op.fd);
        case file_action::read: return read_pieces(op);
        case file_action::write: return write_pieces(op);
        case file_action::sync: return op.flags == 1 ? ::fdatasync(op.fd) : ::fsync(op.fd);
        case file_action::allocate:
            return ::fallocate(op.fd, system_flags(op), position(op.offset), position(op.size));
        case file_action::truncate: return ::ftruncate(op.fd, position(op.size));
        case file_action::status: return take_status(op);
        case file_action::set_mode: return set_mode(op);
        case file_action::set_times: return set_times(op);
        case file_action::make_directory: return ::mkdirat(op.fd, op.path, op.mode);
        case file_action::remove: return ::unlinkat(op.fd, op.path, system_flags(op));
        case file_action::rename:
            return ::renameat2(op.fd, op.path, op.other_fd, op.other_path, op.flags);
        case file_action::link:
            return ::linkat(op.fd, op.path, op.other_fd, op.other_path, system_flags(op));
        case file_action::symlink: return ::symlinkat(op.path, op.other_fd, op.other_path);
        case file_action::read_link:
            return ::readlinkat(op.fd, op.path, room(op), op.pieces[0].size);
        case file_action::list:
            return ::syscall(SYS_getdents64, op.fd, room(op), op.pieces[0].size);
        case file_action::copy_range: return copy_range(op);
        case file_action::lock: return set_lock(op);
    }
    errno = ENOSYS;
    return -1;
}

// Kernels 5.9 and 5.10 may return 0 for RWF_NOWAIT before the end of the file.
bool ends_are_true() noexcept {
    static const bool yes = [] {
        utsname u{};
        int major = 0;
        int minor = 0;
        if (::uname(&u) != 0 || std::sscanf(u.release, "%d.%d", &major, &minor) != 2) return false;
        return major != 5 || (minor != 9 && minor != 10);
    }();
    return yes;
}

std::int64_t read_from_memory(const file_operation& op) noexcept {
    // The kernel would not say EAGAIN, but read the disk.
    if ((op.flags & O_DIRECT) != 0) return -EAGAIN;
    iovec some[8];
    int n = 0;
    std::size_t room_left = most_bytes_at_once;
    for (const slice& s : op.pieces) {
        if (n == 8 || room_left == 0) break;
        const std::size_t size = std::min(s.size, room_left);
        some[n++] = {const_cast<char*>(s.data), size};
        room_left -= size;
    }
    const ssize_t moved = ::preadv2(op.fd, some, n, position(op.offset), RWF_NOWAIT);
    if (moved > 0 || (moved == 0 && ends_are_true())) return moved;
    const bool cannot_tell =
        moved == 0 || errno == EINTR || errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL;
    return cannot_tell ? -EAGAIN : -errno;
}

std::int64_t open_from_memory(const file_operation& op) noexcept {
    if ((op.flags & (O_CREAT | O_TRUNC)) != 0 || (op.flags & O_TMPFILE) == O_TMPFILE) {
        return -EAGAIN;
    }
    open_how how{};
    how.flags = op.flags;
    how.resolve = RESOLVE_CACHED;
    const long fd = ::syscall(SYS_openat2, op.fd, op.path, &how, sizeof how);
    if (fd >= 0) return fd;
    // Kernels before 5.12 do not know the flag, those before 5.6 the call; sandboxes refuse it.
    const bool cannot_tell =
        errno == EINVAL || errno == ENOSYS || errno == EPERM || errno == E2BIG || errno == EINTR;
    return cannot_tell ? -EAGAIN : -errno;
}

}  // namespace

std::int64_t perform(const file_operation& op) noexcept {
    // The call would block the loop; but a close must happen even if no thread can make it.
    assert(loop::current() == nullptr || loop::current()->offload_pool() == nullptr ||
           op.action == file_action::close);
    for (;;) {
        const std::int64_t n = call(op);
        if (n >= 0) return n;
        // After close the descriptor is free, whatever it returns: another thread may have it by
        // now.
        if (errno != EINTR) return -errno;
        if (op.action == file_action::close) return 0;
    }
}

std::int64_t perform_from_memory(const file_operation& op) noexcept {
    switch (op.action) {
        case file_action::read: return read_from_memory(op);
        case file_action::open: return open_from_memory(op);
        default: return -EAGAIN;
    }
}

}  // namespace coracle::fs::detail
