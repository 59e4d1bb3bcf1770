#include "fs/scattered_read.hpp"

#include <coracle/fs/plain_file.hpp>

#include <sys/uio.h>

#include <cassert>
#include <cerrno>
#include <system_error>

namespace coracle::fs::detail {
namespace {

/// Reads where the file system cannot tell if it would have to wait.
std::expected<std::size_t, error> read_anyway(int fd, std::uint64_t offset,
                                              std::span<const std::span<char>> places) {
    std::size_t done = 0;
    for (const std::span<char> place : places) {
        const auto n = read_at(fd, offset + done, place);
        if (!n) return n;
        done += *n;
        if (*n != place.size()) break;
    }
    return done;
}

}  // namespace

std::expected<std::size_t, error> try_read_at(int fd, std::uint64_t offset,
                                              std::span<const std::span<char>> places) {
    assert(places.size() <= most_places);
    iovec pieces[most_places];
    std::size_t size = 0;
    int count = 0;
    for (const std::span<char> place : places) {
        pieces[count++] = {place.data(), place.size()};
        size += place.size();
    }
    ssize_t n = -1;
    do {
        n = ::preadv2(fd, pieces, count, static_cast<off_t>(offset), RWF_NOWAIT);
    } while (n < 0 && errno == EINTR);
    if (n == static_cast<ssize_t>(size)) return size;
    if (n < 0 && (errno == EOPNOTSUPP || errno == ENOSYS || errno == EINVAL)) {
        return read_anyway(fd, offset, places);
    }
    const int number = n < 0 ? errno : EAGAIN;
    return std::unexpected(error(std::error_code(number, std::generic_category()), "read"));
}

}  // namespace coracle::fs::detail
