#include <coracle/net/detail/message_operation.hpp>

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <string>

namespace coracle::net::detail {
namespace {

class connecting_message_end final : public address_operation {
public:
    connecting_message_end() noexcept : address_operation(opcode::connect, nullptr) {}
};

int option_of(int fd, int level, int name) noexcept {
    int value = 0;
    socklen_t size = sizeof value;
    return ::getsockopt(fd, level, name, &value, &size) == 0 ? value : 0;
}

/// Returns the largest size of a datagram of this socket.
std::size_t size_limit(int fd, net::family f) noexcept {
    if (f == net::family::unix_path) {
        return static_cast<std::size_t>(option_of(fd, SOL_SOCKET, SO_SNDBUF));
    }
    const bool is_v4 = f == net::family::v4;
    const int headers = is_v4 ? 28 : 48;
    const std::size_t largest = is_v4 ? 65'507 : 65'527;
    const int mode = is_v4 ? option_of(fd, IPPROTO_IP, IP_MTU_DISCOVER)
                           : option_of(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER);
    if (mode != IP_PMTUDISC_DO && mode != IP_PMTUDISC_PROBE) return largest;
    const int mtu =
        is_v4 ? option_of(fd, IPPROTO_IP, IP_MTU) : option_of(fd, IPPROTO_IPV6, IPV6_MTU);
    return mtu > headers ? std::min(largest, static_cast<std::size_t>(mtu - headers)) : largest;
}

}  // namespace

std::expected<std::unique_ptr<message_end>, error> message_end::adopt(loop& l, int fd) {
    std::unique_ptr<message_end> e(new (std::nothrow) message_end(l));
    if (e == nullptr) {
        l.backend().discard(fd);
        return std::unexpected(error(std::errc::not_enough_memory, "attach"));
    }
    if (auto attached = l.backend().attach(e->on, fd); !attached) {
        l.backend().discard(fd);
        return std::unexpected(std::move(attached).error());
    }
    return e;
}

std::expected<std::unique_ptr<message_end>, error> message_end::adopt(loop& l, owned_fd fd) {
    auto e = std::make_unique<message_end>(l);
    if (auto attached = l.backend().attach(e->on, fd.get()); !attached) {
        return std::unexpected(std::move(attached).error());
    }
    static_cast<void>(fd.release());
    return e;
}

error message_end::failure(std::int64_t result, const char* name, phase where, const endpoint& with,
                           std::size_t size) const {
    const int number = static_cast<int>(-result);
    const address other = with.size == 0 ? peer : address::from(with);
    std::string subject =
        other.family() == net::family::none ? local.to_string() : other.to_string();
    if (number == EMSGSIZE && where == phase::send) {
        const std::size_t most = size_limit(on.fd, local.family());
        subject += ": " + std::to_string(size) + " bytes, ";
        subject +=
            size > most ? "the limit is " + std::to_string(most) : "more than the path to it takes";
    }
    error e(std::error_code(number, std::generic_category()), name, where);
    return std::move(e.on(subject));
}

std::expected<void, error> message_end::connect(const address& to) {
    connecting_message_end op;
    op.on = &on;
    op.peer = to.to_endpoint();
    // A family of none dissolves the association (connect(2)).
    if (op.peer.size == 0) op.peer.size = sizeof(sockaddr);
    // Connecting a datagram socket only sets an address in the kernel, and never waits.
    const bool done = owner->backend().submit(op);
    if (!done || op.result < 0) {
        const std::int64_t result = done ? op.result : -EINPROGRESS;
        return std::unexpected(failure(result, "connect", phase::connect, to.to_endpoint(), 0));
    }
    peer = to;
    if (auto e = owner->backend().local_endpoint(on.fd)) local = address::from(*e);
    return {};
}

}  // namespace coracle::net::detail
