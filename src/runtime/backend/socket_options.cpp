#include "runtime/backend/socket_options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace coracle::detail {
namespace {

constexpr int local_port_range = 51;  // IP_LOCAL_PORT_RANGE: newer than our headers

using done_or_error = std::expected<void, error>;

bool try_option(int fd, int level, int name, int value) noexcept {
    return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

void set_if(bool wanted, int fd, int level, int name, int value) noexcept {
    if (wanted) static_cast<void>(try_option(fd, level, name, value));
}

std::unexpected<error> refused(const char* option) noexcept {
    return std::unexpected(error(std::error_code(errno, std::generic_category()), option));
}

bool is_tcp(int family) noexcept {
    return family == AF_INET || family == AF_INET6;
}

void set_keep_alive(int fd, const keep_alive_options& o) noexcept {
    if (!o.on) return;
    set_if(true, fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_if(o.idle != 0, fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(o.idle));
    set_if(o.interval != 0, fd, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(o.interval));
    set_if(o.count != 0, fd, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(o.count));
}

done_or_error set_type_of_service(int fd, int family, int value) noexcept {
    if (value < 0) return {};
    const bool is_v6 = family == AF_INET6;
    if (!try_option(fd, is_v6 ? int{IPPROTO_IPV6} : int{IPPROTO_IP}, is_v6 ? IPV6_TCLASS : IP_TOS,
                    value)) {
        return refused("type_of_service");
    }
    // For the IPv4 connections of a listener of both families.
    set_if(is_v6, fd, IPPROTO_IP, IP_TOS, value);
    return {};
}

done_or_error set_port_range(int fd, const socket_options& o) noexcept {
    if (o.first_local_port == 0 && o.last_local_port == 0) return {};
    const std::uint32_t range =
        std::uint32_t{o.last_local_port} << 16 | std::uint32_t{o.first_local_port};
    if (::setsockopt(fd, IPPROTO_IP, local_port_range, &range, sizeof range) != 0) {
        return refused("local_port_range");
    }
    return {};
}

bool has_port(const endpoint& e) noexcept {
    // The port has the same offset in both kinds of address.
    sockaddr_in s{};
    std::memcpy(&s, e.bytes, sizeof s);
    return s.sin_port != 0;
}

done_or_error bind_to(int fd, const endpoint& local) noexcept {
    if (local.size == 0) return {};
    // Without this a local port is used for all peers, and there are only 28,000 ports.
    if (!has_port(local)) set_if(true, fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    set_if(has_port(local), fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(local.bytes), local.size) != 0) {
        return refused("bind");
    }
    return {};
}

}  // namespace

done_or_error set_common_options(int fd, int family, const socket_options& o) noexcept {
    // Before the handshake, which fixes the window scale.
    set_if(o.send_buffer != 0, fd, SOL_SOCKET, SO_SNDBUF, o.send_buffer);
    set_if(o.receive_buffer != 0, fd, SOL_SOCKET, SO_RCVBUF, o.receive_buffer);
    if (!is_tcp(family)) return {};
    set_if(o.no_delay, fd, IPPROTO_TCP, TCP_NODELAY, 1);
    set_keep_alive(fd, o.keep_alive);
    set_if(o.unsent != 0, fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT,
           static_cast<int>(std::min<unsigned>(o.unsent, INT_MAX)));
    set_if(o.user_timeout_ms != 0, fd, IPPROTO_TCP, TCP_USER_TIMEOUT,
           static_cast<int>(o.user_timeout_ms));
    if (auto set = set_type_of_service(fd, family, o.type_of_service); !set) return set;
    if (o.mark != 0 && !try_option(fd, SOL_SOCKET, SO_MARK, static_cast<int>(o.mark))) {
        return refused("mark");
    }
    if (o.device.text[0] != '\0' &&
        ::setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, o.device.text,
                     static_cast<socklen_t>(std::strlen(o.device.text))) != 0) {
        return refused("device");
    }
    return {};
}

done_or_error set_connecting_options(int fd, int family, const socket_options& o) noexcept {
    if (!is_tcp(family)) return {};
    if (o.fast_open && !try_option(fd, IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)) {
        return refused("fast_open");
    }
    if (auto set = set_port_range(fd, o); !set) return set;
    return bind_to(fd, o.local);
}

done_or_error share_port(int fd) noexcept {
    if (!try_option(fd, SOL_SOCKET, SO_REUSEPORT, 1)) return refused("reuse_port");
    return {};
}

done_or_error set_listening_options(int fd, int family, const socket_options& o) noexcept {
    if (!is_tcp(family)) return {};
    static_cast<void>(try_option(fd, SOL_SOCKET, SO_REUSEADDR, 1));
    if (o.reuse_port && !o.claims_port) {
        if (auto shared = share_port(fd); !shared) return shared;
    }
    if (family == AF_INET6 && !try_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, o.v6_only ? 1 : 0)) {
        return refused("v6_only");
    }
    if (o.fast_open_queue != 0 && !try_option(fd, IPPROTO_TCP, TCP_FASTOPEN, o.fast_open_queue)) {
        return refused("fast_open_queue");
    }
    return {};
}

}  // namespace coracle::detail
