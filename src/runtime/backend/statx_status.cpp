#include "runtime/backend/statx_status.hpp"

#include <sys/sysmacros.h>

namespace coracle::detail {
namespace {

file_kind kind_of(unsigned mode) noexcept {
    switch (mode & S_IFMT) {
        case S_IFREG: return file_kind::regular;
        case S_IFDIR: return file_kind::directory;
        case S_IFLNK: return file_kind::symlink;
        case S_IFIFO: return file_kind::fifo;
        case S_IFSOCK: return file_kind::socket;
        case S_IFCHR: return file_kind::character_device;
        case S_IFBLK: return file_kind::block_device;
        default: return file_kind::unknown;
    }
}

std::int64_t nanoseconds(const statx_timestamp& t) noexcept {
    return saturated_nanoseconds(t.tv_sec, t.tv_nsec);
}

}  // namespace

std::int64_t saturated_nanoseconds(std::int64_t seconds, std::int64_t nanoseconds) noexcept {
    std::int64_t all = 0;
    if (!__builtin_mul_overflow(seconds, std::int64_t{1'000'000'000}, &all) &&
        !__builtin_add_overflow(all, nanoseconds, &all)) {
        return all;
    }
    return seconds < 0 ? INT64_MIN : INT64_MAX;
}

file_status status_from(const struct statx& s) noexcept {
    constexpr std::uint64_t block = 512;
    return {.kind = kind_of(s.stx_mode),
            .mode = s.stx_mode & 07777u,
            .user = s.stx_uid,
            .group = s.stx_gid,
            .size = s.stx_size,
            .allocated = s.stx_blocks * block,
            .links = s.stx_nlink,
            .inode = s.stx_ino,
            .device = makedev(s.stx_dev_major, s.stx_dev_minor),
            .accessed_ns = nanoseconds(s.stx_atime),
            .modified_ns = nanoseconds(s.stx_mtime),
            .changed_ns = nanoseconds(s.stx_ctime),
            .created_ns = (s.stx_mask & STATX_BTIME) != 0 ? nanoseconds(s.stx_btime) : 0};
}

}  // namespace coracle::detail
