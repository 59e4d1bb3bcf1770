#include "fs/scattered_read.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>

namespace coracle::fs::detail {

std::size_t read_if_in_memory(int fd, std::uint64_t offset,
                              std::span<const std::span<char>> places) noexcept {
    assert(places.size() <= most_places);
    iovec pieces[most_places];
    std::size_t size = 0;
    int count = 0;
    for (const std::span<char> place : places) {
        pieces[count++] = {place.data(), place.size()};
        size += place.size();
    }
    const auto at = static_cast<off_t>(offset);
    ssize_t n = -1;
    do {
        n = ::preadv2(fd, pieces, count, at, RWF_NOWAIT);
        const bool cannot_tell =
            n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL);
        if (cannot_tell) n = ::preadv(fd, pieces, count, at);
    } while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(size) ? size : 0;
}

}  // namespace coracle::fs::detail
