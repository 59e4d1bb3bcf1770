#include "runtime/backend/socket_options.hpp"

#include <coracle/net/listener.hpp>

#include <fcntl.h>
#include <linux/filter.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>
#include <new>
#include <utility>

namespace coracle::net {
namespace {

/// The connection died before it was accepted (accept(2), "Error handling").
bool died_while_waiting(std::int64_t result) noexcept {
    switch (-result) {
        case ECONNABORTED:
        case EPROTO:
        case ENETDOWN:
        case ENOPROTOOPT:
        case EHOSTDOWN:
        case ENONET:
        case EHOSTUNREACH:
        case EOPNOTSUPP:
        case ENETUNREACH: return true;
        default: return false;
    }
}

int open_spare() noexcept {
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

error accept_failure(std::int64_t result, const address& at) {
    const std::error_code number(static_cast<int>(-result), std::generic_category());
    // It may have failed for want of memory.
    try {
        return error(number, accepting::name).on(at.to_string());
    } catch (const std::bad_alloc&) {
        return error(number, accepting::name);
    }
}

std::expected<std::unique_ptr<socket>, error> adopt_connection(loop& owner, int fd,
                                                               const endpoint& peer) {
    address from;
    try {
        from = address::from(peer);
    } catch (const std::bad_alloc&) {
        owner.backend().discard(fd);
        return std::unexpected(error(std::errc::not_enough_memory, accepting::name));
    }
    return socket::adopt(owner, fd, from);
}

std::int64_t accept_now(int fd, endpoint& peer) noexcept {
    for (;;) {
        socklen_t size = sizeof peer.bytes;
        auto* const from = reinterpret_cast<sockaddr*>(peer.bytes);
        const int accepted = ::accept4(fd, from, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (accepted < 0 && errno == EINTR) continue;
        peer.size = size;
        return accepted < 0 ? -errno : accepted;
    }
}

/// TCP has no way to refuse new connections and keep those that wait, so a filter drops the first
/// packet of each, and nothing else: the peer repeats it after a second, when there is another
/// listener, or none and so a refusal. Without it, connections that come between the last accept
/// and the close are reset, as are those whose handshake is under way.
void drop_new_handshakes(int fd) noexcept {
    constexpr unsigned flags_of_tcp = 13;  // the byte of the header (RFC 9293 section 3.1)
    constexpr unsigned syn_and_ack = 0x12;
    constexpr unsigned syn = 0x02;
    constexpr unsigned whole = 0xffffffff;
    sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, flags_of_tcp),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, syn_and_ack),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, syn, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, whole),
    };
    const sock_fprog filter{static_cast<unsigned short>(std::size(steps)), steps};
    static_cast<void>(::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
}

error failure_of(const char* call) noexcept {
    return {std::error_code(errno, std::generic_category()), call};
}

std::string inherited_name(int fd) {
    return "the inherited descriptor " + std::to_string(fd);
}

/// Makes a listening socket of another process like one that a backend opens, as far as that can be
/// done later. Gives its address.
std::expected<endpoint, error> prepare_listener(int fd, const socket_options& o) {
    int listens = 0;
    int type = 0;
    socklen_t size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 ||
        ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return std::unexpected(std::move(failure_of("getsockopt").on(inherited_name(fd))));
    }
    if (listens == 0 || type != SOCK_STREAM) {
        error e(std::errc::invalid_argument, "adopt");
        return std::unexpected(std::move(e.on(inherited_name(fd) + ", which does not listen")));
    }
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0 ||
        ::fcntl(fd, F_SETFD, FD_CLOEXEC) != 0) {
        return std::unexpected(failure_of("fcntl"));
    }
    endpoint at;
    size = sizeof at.bytes;
    auto* const name = reinterpret_cast<sockaddr*>(at.bytes);
    if (::getsockname(fd, name, &size) != 0) return std::unexpected(failure_of("getsockname"));
    at.size = size;
    if (auto set = coracle::detail::set_common_options(fd, name->sa_family, o); !set) {
        return std::unexpected(std::move(set).error());
    }
    return at;
}

}  // namespace

bool accepting::start() noexcept {
    on = listener_->descriptor_.get();
    backend& b = owner().backend();
    while (may_begin_among_others() && b.submit(*this)) {
        if (!died_while_waiting(io_operation::result)) return true;
    }
    return false;
}

void accepting::cancel() noexcept {
    if (!withdrawn_before_start()) owner().backend().cancel(*this);
}

void accepting::done(io_operation& op) noexcept {
    auto& self = static_cast<accepting&>(op);
    if (op.result == -ECANCELED) self.mark_cancelled();
    if (died_while_waiting(op.result) && !self.start()) return;
    self.complete();
}

std::expected<std::unique_ptr<socket>, error> accepting::result() {
    const std::int64_t result = io_operation::result;
    if (result < 0) return std::unexpected(accept_failure(result, listener_->local_));
    return adopt_connection(*listener_->owner_, static_cast<int>(result), peer);
}

std::expected<listener, error> listener::open(loop& owner, const address& at,
                                              const socket_options& options) {
    endpoint e = at.to_endpoint();
    auto fd = owner.backend().listen(e, options);
    if (!fd) return std::unexpected(fd.error().on(at.to_string()));
    return attach(owner, *fd, e);
}

std::expected<listener, error> listener::share(loop& owner, const listener& with) {
    auto fd = owner.backend().duplicate(*with.descriptor_);
    if (!fd) return std::unexpected(fd.error().on(with.local_.to_string()));
    return attach(owner, *fd, with.local_.to_endpoint());
}

std::expected<listener, error> listener::adopt(loop& owner, owned_fd fd,
                                               const socket_options& options) {
    if (!owner.backend().is_of_the_system()) {
        return std::unexpected(error(std::errc::operation_not_supported, "adopt"));
    }
    auto at = prepare_listener(fd.get(), options);
    if (!at) return std::unexpected(std::move(at).error());
    return attach(owner, fd.release(), *at);
}

std::expected<listener, error> listener::attach(loop& owner, int fd, const endpoint& at) {
    // We own the descriptor until it is attached, also if that fails for lack of memory.
    const auto discard = [&owner](const int* number) { owner.backend().discard(*number); };
    std::unique_ptr<const int, decltype(discard)> held(&fd, discard);
    listener l(owner, address::from(at));
    l.descriptor_ = std::make_unique<descriptor>();
    static_cast<void>(held.release());
    if (auto attached = owner.backend().attach(*l.descriptor_, fd); !attached) {
        owner.backend().discard(fd);
        return std::unexpected(std::move(attached).error());
    }
    l.spare_ = open_spare();
    return l;
}

listener::listener(listener&& other) noexcept
    : owner_(other.owner_), descriptor_(std::move(other.descriptor_)),
      spare_(std::exchange(other.spare_, -1)), local_(std::move(other.local_)) {}

listener::~listener() {
    close();
    if (spare_ >= 0) ::close(spare_);
}

void listener::close() noexcept {
    if (descriptor_ && descriptor_->open()) owner_->backend().close(*descriptor_);
}

std::expected<std::unique_ptr<socket>, error> listener::try_accept() {
    if (!owner_->backend().is_of_the_system() || !descriptor_->open()) return nullptr;
    endpoint peer;
    std::int64_t result = -ECONNABORTED;
    while (died_while_waiting(result)) result = accept_now(descriptor_->fd, peer);
    if (result >= 0) return adopt_connection(*owner_, static_cast<int>(result), peer);
    // A Unix socket that refuses new ones gives EINVAL at the end.
    if (result == -EAGAIN || result == -EINVAL) return nullptr;
    return std::unexpected(accept_failure(result, local_));
}

void listener::refuse_new() noexcept {
    if (!owner_->backend().is_of_the_system() || !descriptor_->open()) return;
    if (local_.family() == family::unix_path)
        ::shutdown(descriptor_->fd, SHUT_RD);
    else
        drop_new_handshakes(descriptor_->fd);
}

std::expected<owned_fd, error> listener::duplicate() const {
    auto fd = owner_->backend().duplicate(*descriptor_);
    if (!fd) return std::unexpected(fd.error().on(local_.to_string()));
    if (!owner_->backend().is_of_the_system()) {
        owner_->backend().discard(*fd);
        return std::unexpected(error(std::errc::operation_not_supported, "duplicate"));
    }
    return owned_fd(*fd);
}

void listener::refuse_one() noexcept {
    if (spare_ >= 0) ::close(std::exchange(spare_, -1));
    owner_->backend().turn_away(*descriptor_);
    spare_ = open_spare();
}

}  // namespace coracle::net
