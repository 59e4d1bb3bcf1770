#include "runtime/backend/unix_path.hpp"

#include <coracle/net/unix_socket.hpp>

#include <sys/socket.h>

#include <string>

namespace coracle::net {
namespace {

int type_of(unix_kind kind) noexcept {
    switch (kind) {
        case unix_kind::stream: return SOCK_STREAM;
        case unix_kind::datagram: return SOCK_DGRAM;
        case unix_kind::seqpacket: break;
    }
    return SOCK_SEQPACKET;
}

error system_failure(const char* operation, const address& of) {
    error e(std::error_code(errno, std::generic_category()), operation);
    if (of.family() != net::family::none) e.on(of.to_string());
    return e;
}

std::expected<owned_fd, error> open_unix(unix_kind kind, const address& of) {
    if (of.family() != net::family::unix_path) {
        return std::unexpected(
            error(std::errc::address_family_not_supported, "socket").on(of.to_string()));
    }
    owned_fd fd(::socket(AF_UNIX, type_of(kind) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd) return std::unexpected(system_failure("socket", of));
    return fd;
}

std::expected<process_credentials, error> credentials_of(int fd, const address& peer) {
    ucred of{};
    socklen_t size = sizeof of;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &of, &size) != 0) {
        return std::unexpected(system_failure("peer_credentials", peer));
    }
    // The kernel returns this for sockets without a peer, or with an unknown one.
    if (of.uid == static_cast<uid_t>(-1)) {
        return std::unexpected(
            error(std::errc::operation_not_supported, "peer_credentials").on(peer.to_string()));
    }
    return process_credentials{of.pid, of.uid, of.gid};
}

std::expected<void, error> open_pair(int type, owned_fd (&both)[2]) {
    int fds[2] = {-1, -1};
    if (::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds) != 0) {
        return std::unexpected(system_failure("socketpair", {}));
    }
    both[0].reset(fds[0]);
    both[1].reset(fds[1]);
    return {};
}

}  // namespace

// ---- operations ---------------------------------------------------------------------------------

std::expected<unix_message, error> receiving_message::result() {
    if (io_operation::result < 0) {
        return std::unexpected(
            end_->failure(io_operation::result, name, phase::receive, endpoint(), 0));
    }
    // If none were requested, received descriptors are closed, which is not a failure.
    if (passed_.truncated && slot_.passed->most != 0) {
        return std::unexpected(error(errc::limit_exceeded, name, phase::receive)
                                   .on("descriptors: more than " + std::to_string(passed_.most) +
                                       " with one message, or than this process may open"));
    }
    if (slot_.size == 0 && kind_ != unix_kind::datagram) {
        return std::unexpected(error(errc::end_of_stream, name, phase::receive));
    }
    unix_message m;
    m.bytes = std::move(bytes_);
    m.descriptors = std::move(passed_.received);
    m.sender = slot_.sender;
    m.truncated = slot_.truncated;
    return m;
}

bool sending_message::start() noexcept {
    slot_.data = const_cast<char*>(bytes_.data());  // sending only reads from there
    slot_.size = bytes_.size();
    if (bytes_.empty() || passed_.to_send.size() > passed_objects::max_descriptors) {
        io_operation::result = bytes_.empty() ? -EINVAL : -E2BIG;
        return may_begin();
    }
    slot_.passed = passed_.to_send.empty() ? nullptr : &passed_;
    return begin({&slot_, 1});
}

std::expected<std::size_t, error> sending_message::result() {
    if (io_operation::result == -E2BIG) {
        return std::unexpected(
            error(errc::limit_exceeded, name, phase::send)
                .on("max_descriptors: " + std::to_string(passed_.to_send.size()) + " of " +
                    std::to_string(passed_objects::max_descriptors)));
    }
    const std::int64_t failure =
        io_operation::result < 0 ? io_operation::result : -std::int64_t{slot_.failure};
    if (failure == 0) return bytes_.size();
    return std::unexpected(
        end_->failure(failure, name, phase::send, endpoint(), bytes_.size())
            .after_bytes(static_cast<std::uint64_t>(slot_.data - bytes_.data())));
}

bool accepting_unix::start() noexcept {
    on = &end_->on;
    return may_begin() && owner().backend().submit(*this);
}

void accepting_unix::done(io_operation& op) noexcept {
    auto& self = static_cast<accepting_unix&>(op);
    if (op.result == -ECANCELED) self.mark_cancelled();
    self.complete();
}

std::expected<unix_socket, error> accepting_unix::result() {
    if (io_operation::result >= 0) {
        return unix_socket::adopt(*end_->owner, static_cast<int>(io_operation::result));
    }
    const std::error_code number(static_cast<int>(-io_operation::result), std::generic_category());
    return std::unexpected(error(number, name).on(end_->local.to_string()));
}

// ---- sockets ------------------------------------------------------------------------------------

std::expected<unix_socket, error> unix_socket::adopt(loop& owner, int fd) {
    owned_fd held(fd);
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
        return std::unexpected(system_failure("adopt", {}));
    }
    const unix_kind kind = type == SOCK_STREAM  ? unix_kind::stream
                           : type == SOCK_DGRAM ? unix_kind::datagram
                                                : unix_kind::seqpacket;
    auto end = detail::message_end::adopt(owner, std::move(held));
    if (!end) return std::unexpected(std::move(end).error());
    detail::message_end& e = **end;
    if (auto local = owner.backend().local_endpoint(e.on.fd)) e.local = address::from(*local);
    endpoint peer;
    socklen_t length = sizeof peer.bytes;
    if (::getpeername(e.on.fd, reinterpret_cast<sockaddr*>(peer.bytes), &length) == 0) {
        peer.size = length;
        e.peer = address::from(peer);
    }
    return unix_socket(*std::move(end), kind);
}

std::expected<unix_socket, error> unix_socket::connect(loop& owner, const address& to,
                                                       unix_kind kind) {
    auto fd = open_unix(kind, to);
    if (!fd) return std::unexpected(std::move(fd).error());
    auto end = detail::message_end::adopt(owner, *std::move(fd));
    if (!end) return std::unexpected(std::move(end).error());
    if (auto connected = (*end)->connect(to); !connected) {
        return std::unexpected(std::move(connected).error());
    }
    return unix_socket(*std::move(end), kind);
}

std::expected<std::pair<unix_socket, unix_socket>, error> unix_socket::pair(loop& owner,
                                                                            unix_kind kind) {
    owned_fd both[2];
    if (auto opened = open_pair(type_of(kind), both); !opened) {
        return std::unexpected(std::move(opened).error());
    }
    auto a = adopt(owner, both[0].release());
    if (!a) return std::unexpected(std::move(a).error());
    auto b = adopt(owner, both[1].release());
    if (!b) return std::unexpected(std::move(b).error());
    return std::pair(*std::move(a), *std::move(b));
}

std::expected<process_credentials, error> unix_socket::peer_credentials() const {
    return credentials_of(end_->on.fd, end_->peer);
}

std::expected<void, error> unix_socket::tell_credentials(bool on) {
    const int value = on ? 1 : 0;
    if (::setsockopt(end_->on.fd, SOL_SOCKET, SO_PASSCRED, &value, sizeof value) == 0) return {};
    return std::unexpected(system_failure("tell_credentials", end_->local));
}

std::expected<owned_fd, error> unix_socket::release() {
    owned_fd fd(end_->owner->backend().detach(end_->on));
    if (fd) return fd;
    return std::unexpected(error(std::errc::operation_not_supported, "release"));
}

std::expected<unix_listener, error> unix_listener::open(loop& owner, const address& at,
                                                        unix_kind kind, int backlog) {
    auto fd = open_unix(kind, at);
    if (!fd) return std::unexpected(std::move(fd).error());
    const endpoint e = at.to_endpoint();
    const coracle::detail::path_claim claim(e, type_of(kind));
    const auto* const where = reinterpret_cast<const sockaddr*>(e.bytes);
    if (::bind(fd->get(), where, e.size) != 0) return std::unexpected(system_failure("bind", at));
    if (::listen(fd->get(), backlog) != 0) return std::unexpected(system_failure("listen", at));
    auto end = detail::message_end::adopt(owner, *std::move(fd));
    if (!end) return std::unexpected(std::move(end).error());
    (*end)->local = at;
    return unix_listener(*std::move(end));
}

std::expected<std::pair<std::unique_ptr<socket>, std::unique_ptr<socket>>, error> socket_pair(
    loop& owner) {
    owned_fd both[2];
    if (auto opened = open_pair(SOCK_STREAM, both); !opened) {
        return std::unexpected(std::move(opened).error());
    }
    // A simulated backend does not take descriptors of the system, and would not close them.
    auto taken = detail::message_end::adopt(owner, std::move(both[0]));
    if (!taken) return std::unexpected(std::move(taken).error());
    both[0].reset(owner.backend().detach((*taken)->on));
    const address unnamed = *address::parse("unix:@");
    auto a = socket::adopt(owner, both[0].release(), unnamed);
    if (!a) return std::unexpected(std::move(a).error());
    auto b = socket::adopt(owner, both[1].release(), unnamed);
    if (!b) return std::unexpected(std::move(b).error());
    return std::pair(*std::move(a), *std::move(b));
}

std::expected<process_credentials, error> peer_credentials(const socket& s) {
    if (s.peer().family() != net::family::unix_path) {
        return std::unexpected(
            error(std::errc::operation_not_supported, "peer_credentials").on(s.peer().to_string()));
    }
    return credentials_of(s.number(), s.peer());
}

}  // namespace coracle::net
