#include "runtime/backend/system_backend.hpp"

#include "runtime/backend/kernel_splice.hpp"
#include "runtime/backend/plain_calls.hpp"
#include "runtime/backend/socket_options.hpp"
#include "runtime/backend/unix_path.hpp"
#include "runtime/without_sigpipe.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

namespace coracle::detail {
namespace {

static_assert(sizeof(slice) == sizeof(iovec) && offsetof(slice, size) == offsetof(iovec, iov_len));
static_assert(sizeof(endpoint::bytes) >= sizeof(sockaddr_un));

constexpr std::size_t largest_gather = 64;

std::int64_t read_clock(clockid_t which) noexcept {
    timespec t{};
    ::clock_gettime(which, &t);
    return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

void system_backend::enters_thread() noexcept {
    clockid_t own = 0;
    if (::pthread_getcpuclockid(::pthread_self(), &own) == 0) {
        spent_before_.store(read_clock(own), std::memory_order_relaxed);
        thread_clock_.store(own, std::memory_order_relaxed);
    }
}

duration system_backend::processor_time() const noexcept {
    const clockid_t clock = thread_clock_.load(std::memory_order_relaxed);
    // A thread that has ended has no CPU clock any more.
    const std::int64_t spent = clock == 0 ? 0 : read_clock(clock);
    return duration(spent == 0 ? 0 : spent - spent_before_.load(std::memory_order_relaxed));
}

time_point system_backend::now() noexcept {
    return time_point(duration(read_clock(CLOCK_MONOTONIC)));
}

std::int64_t system_backend::wall_clock() noexcept {
    return read_clock(CLOCK_REALTIME);
}

std::uint64_t system_backend::random() noexcept {
    if (random_left_ == 0) {
        while (::getrandom(random_pool_, sizeof random_pool_, 0) !=
               static_cast<ssize_t>(sizeof random_pool_)) {
        }
        random_left_ = sizeof random_pool_ / sizeof random_pool_[0];
    }
    return random_pool_[--random_left_];
}

std::expected<int, error> system_backend::listen(endpoint& at, const socket_options& o) noexcept {
    const int family = as_sockaddr(at)->sa_family;
    const path_claim claim(at, SOCK_STREAM);
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return std::unexpected(system_error(errno, "socket"));
    const auto fail = [fd](const char* operation) {
        const error e = system_error(errno, operation);
        ::close(fd);
        return std::unexpected(e);
    };
    auto set = set_listening_options(fd, family, o);
    // Accepted sockets inherit these: two system calls less for each connection.
    if (set) set = set_common_options(fd, family, o);
    if (!set) {
        ::close(fd);
        return std::unexpected(set.error());
    }
    if (::bind(fd, as_sockaddr(at), at.size) != 0) return fail("bind");
    if (::listen(fd, o.backlog) != 0) return fail("listen");
    // Sharing begins only after bind and listen: this listener shares the port with later ones,
    // never with one that was there before.
    if (o.reuse_port && o.claims_port && family != AF_UNIX) set = share_port(fd);
    if (!set) {
        ::close(fd);
        return std::unexpected(set.error());
    }
    if (auto local = local_endpoint(fd)) at = *local;
    return fd;
}

std::expected<int, error> system_backend::open_stream(const endpoint& peer,
                                                      const socket_options& o) noexcept {
    const int family = as_sockaddr(peer)->sa_family;
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return std::unexpected(system_error(errno, "socket"));
    auto set = set_common_options(fd, family, o);
    if (set) set = set_connecting_options(fd, family, o);
    if (set) return fd;
    ::close(fd);
    return std::unexpected(set.error());
}

std::expected<endpoint, error> system_backend::local_endpoint(int fd) noexcept {
    endpoint e;
    socklen_t size = sizeof e.bytes;
    if (::getsockname(fd, as_sockaddr(e), &size) != 0) {
        return std::unexpected(system_error(errno, "getsockname"));
    }
    e.size = size;
    return e;
}

std::expected<int, error> system_backend::duplicate(const descriptor& d) noexcept {
    const int fd = ::fcntl(d.fd, F_DUPFD_CLOEXEC, 0);
    if (fd < 0) return std::unexpected(system_error(errno, "fcntl"));
    return fd;
}

void system_backend::shutdown_output(descriptor& d) noexcept {
    ++counters_.system_calls;
    ::shutdown(d.fd, SHUT_WR);
}

void system_backend::turn_away(descriptor& d) noexcept {
    const int fd = ::accept4(d.fd, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd >= 0) ::close(fd);
}

void system_backend::discard(int fd) noexcept {
    ::close(fd);
}

void system_backend::close_number(int fd, bool reset) noexcept {
    if (reset) {
        const linger now{1, 0};
        static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now));
    }
    ++counters_.system_calls;
    ::close(fd);
}

int system_backend::socket_error(int fd) noexcept {
    int number = 0;
    socklen_t size = sizeof number;
    if (::getsockopt(fd, SOL_SOCKET, SO_ERROR, &number, &size) != 0) return errno;
    return number;
}

std::int64_t system_backend::try_accept(address_operation& op) noexcept {
    for (;;) {
        socklen_t size = sizeof op.peer.bytes;
        ++counters_.system_calls;
        const int fd =
            ::accept4(op.on->fd, as_sockaddr(op.peer), &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0 && errno == EINTR) continue;
        op.peer.size = size;
        return fd < 0 ? -errno : fd;
    }
}

std::int64_t system_backend::try_connect(address_operation& op) noexcept {
    ++counters_.system_calls;
    if (::connect(op.on->fd, as_sockaddr(op.peer), op.peer.size) == 0) return 0;
    // An interrupted connect continues in the kernel. EAGAIN is a failure: the queue of a Unix
    // socket is full.
    return errno == EINTR || errno == EINPROGRESS ? -EINPROGRESS : -errno;
}

std::int64_t system_backend::try_receive(receive_operation& op) noexcept {
    const bool borrowed = !op.into;
    if (borrowed && !op.into.try_obtain(op.capacity)) return -ENOMEM;
    ++counters_.system_calls;
    const ssize_t n = plain_recv(op.on->fd, op.into.spare(), op.into.spare_size(), 0);
    if (n <= 0) return received_nothing(op, n, borrowed);
    op.into.commit(static_cast<std::size_t>(n));
    return n;
}

[[gnu::noinline]] std::int64_t system_backend::received_nothing(receive_operation& op,
                                                                std::int64_t result,
                                                                bool borrowed) noexcept {
    while (result < 0 && errno == EINTR) {
        ++counters_.system_calls;
        result = plain_recv(op.on->fd, op.into.spare(), op.into.spare_size(), 0);
    }
    const int number = errno;
    if (result > 0) {
        op.into.commit(static_cast<std::size_t>(result));
    } else if (borrowed) {
        op.into.release();
    }
    return result > 0 ? result : true_result(*op.on, result < 0 ? -number : 0);
}

std::int64_t system_backend::true_result(descriptor& d, std::int64_t result) noexcept {
    switch (-result) {
        case 0:
        case EPIPE: return d.failure != 0 ? -d.failure : result;
        case ECONNRESET:
        case ECONNABORTED:
        case ETIMEDOUT:
        // Reported by ICMP, and kept by the kernel for when it gives up sending again.
        case EHOSTUNREACH:
        case ENETUNREACH:
        case ECONNREFUSED:
        case EACCES:
        case EHOSTDOWN:
        case ENONET:
        case EPROTO:
        case ENOPROTOOPT:
        case EOPNOTSUPP: d.failure = static_cast<int>(-result); return result;
        default: return result;
    }
}

bool system_backend::prefer_input(descriptor& d, std::size_t bytes) noexcept {
    if (!d.open()) return false;
    const int mark = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX));
    ++counters_.system_calls;
    return ::setsockopt(d.fd, SOL_SOCKET, SO_RCVLOWAT, &mark, sizeof mark) == 0;
}

bool system_backend::peek(descriptor& d) noexcept {
    char first = 0;
    ssize_t n = -1;
    do {
        ++counters_.system_calls;
        n = ::recv(d.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    return n >= 0 || true_result(d, -errno) != -EAGAIN;
}

std::int64_t system_backend::try_send_all(coracle::send_operation& op) noexcept {
    while (!op.slices.empty()) {
        msghdr message{};
        message.msg_iov = reinterpret_cast<iovec*>(op.slices.data());
        message.msg_iovlen = op.slices.size() < largest_gather ? op.slices.size() : largest_gather;
        std::size_t wanted = 0;
        for (std::size_t i = 0; i != message.msg_iovlen; ++i) wanted += op.slices[i].size;
        const int flags = MSG_NOSIGNAL | (op.more ? MSG_MORE : 0);
        ++counters_.system_calls;
        const ssize_t n = message.msg_iovlen == 1
                              ? plain_send(op.on->fd, op.slices[0].data, op.slices[0].size, flags)
                              : ::sendmsg(op.on->fd, &message, flags);
        if (n < 0) {
            if (errno == EINTR) continue;
            return true_result(*op.on, -errno);
        }
        op.sent += n;
        auto left = static_cast<std::size_t>(n);
        const bool all = left == wanted;
        while (!op.slices.empty() && left >= op.slices[0].size) {
            left -= op.slices[0].size;
            op.slices = op.slices.subspan(1);
        }
        if (!op.slices.empty()) {
            op.slices[0].data += left;
            op.slices[0].size -= left;
        }
        // A short count means that the socket is full: the kernel reports when it is not.
        if (!all) return -EAGAIN;
    }
    return op.sent;
}

std::int64_t system_backend::try_send_file(send_file_operation& op) noexcept {
    constexpr std::int64_t share = 4 * 1024 * 1024;
    constexpr std::int64_t piece = 1024 * 1024;
    std::int64_t left = share;
    const without_sigpipe quiet;
    while (op.file_size != 0) {
        if (left <= 0) return unfinished;
        off_t offset = op.file_offset;
        const auto size = static_cast<std::size_t>(op.file_size < piece ? op.file_size : piece);
        ++counters_.system_calls;
        const ssize_t n = ::sendfile(op.on->fd, op.file, &offset, size);
        if (n < 0) {
            const int number = errno;
            if (number == EINTR) continue;
            if (number == EPIPE) quiet.take_signal();
            return true_result(*op.on, -number);
        }
        // A later chunk of this call may have failed with EPIPE.
        if (static_cast<std::size_t>(n) < size) quiet.take_signal();
        // The file was truncated while it was sent.
        if (n == 0) return -ENODATA;
        op.sent += n;
        op.file_offset += n;
        op.file_size -= n;
        left -= n;
    }
    return op.sent;
}

std::int64_t system_backend::try_splice_in(splice_operation& op) noexcept {
    ++counters_.system_calls;
    const std::int64_t n = splice_from(op.on->fd, op);
    return n > 0 ? n : true_result(*op.on, n);
}

std::int64_t system_backend::try_splice_out(splice_operation& op) noexcept {
    ++counters_.system_calls;
    const std::int64_t n = splice_all_to(op.on->fd, op);
    return n < 0 ? true_result(*op.on, n) : n;
}

}  // namespace coracle::detail
