#include "runtime/backend/kernel_splice.hpp"

#include "runtime/without_sigpipe.hpp"

#include <fcntl.h>

#include <cerrno>

namespace coracle::detail {
namespace {

std::int64_t splice_once(int from, int to, std::int64_t size) noexcept {
    for (;;) {
        const ssize_t n = ::splice(from, nullptr, to, nullptr, static_cast<std::size_t>(size),
                                   SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
        if (n >= 0) return n;
        if (errno != EINTR) return -errno;
    }
}

}  // namespace

std::int64_t splice_from(int from, const splice_operation& op) noexcept {
    return splice_once(from, op.pipe, op.size);
}

std::int64_t splice_all_to(int to, splice_operation& op) noexcept {
    const without_sigpipe quiet;
    while (op.size != 0) {
        const std::int64_t n = splice_once(op.pipe, to, op.size);
        if (n == -EPIPE) quiet.take_signal();
        if (n < 0) return n;
        // The pipe holds less than expected: a task that waited for the rest would never resume.
        if (n == 0) return -EIO;
        op.size -= n;
    }
    return 0;
}

}  // namespace coracle::detail
