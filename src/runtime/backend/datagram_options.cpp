#include "runtime/backend/datagram_options.hpp"

#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace coracle::detail {
namespace {

/// Sets options one after another until one fails, and records that failure.
class option_setter {
public:
    explicit option_setter(int fd) noexcept : fd_(fd) {}

    option_setter& set(bool wanted, int level, int name, int value, const char* option) noexcept {
        if (!wanted || failure_.code()) return *this;
        if (::setsockopt(fd_, level, name, &value, sizeof value) != 0) refuse(option);
        return *this;
    }
    option_setter& set(const device_name& device) noexcept {
        if (device.text[0] == '\0' || failure_.code()) return *this;
        const auto size = static_cast<socklen_t>(std::strlen(device.text));
        if (::setsockopt(fd_, SOL_SOCKET, SO_BINDTODEVICE, device.text, size) != 0) {
            refuse("device");
        }
        return *this;
    }
    std::expected<void, error> result() const noexcept {
        if (failure_.code()) return std::unexpected(failure_);
        return {};
    }

private:
    void refuse(const char* option) noexcept {
        failure_ = error(std::error_code(errno, std::generic_category()), option);
    }

    int fd_;
    error failure_;
};

int discovery(path_mtu_mode mode) noexcept {
    switch (mode) {
        case path_mtu_mode::fragment: return IP_PMTUDISC_DONT;
        case path_mtu_mode::discover: return IP_PMTUDISC_DO;
        case path_mtu_mode::probe: return IP_PMTUDISC_PROBE;
        default: return IP_PMTUDISC_WANT;
    }
}

/// An IPv6 socket also receives IPv4 datagrams, which have their own options.
void set_v4(option_setter& s, const datagram_options& o) noexcept {
    s.set(o.tell_destination, IPPROTO_IP, IP_PKTINFO, 1, "tell_destination")
        .set(o.tell_hops, IPPROTO_IP, IP_RECVTTL, 1, "tell_hops")
        .set(o.tell_traffic_class, IPPROTO_IP, IP_RECVTOS, 1, "tell_traffic_class")
        .set(o.traffic_class >= 0, IPPROTO_IP, IP_TOS, o.traffic_class, "traffic_class")
        .set(o.path_mtu != path_mtu_mode::system, IPPROTO_IP, IP_MTU_DISCOVER,
             discovery(o.path_mtu), "path_mtu")
        .set(o.hops > 0, IPPROTO_IP, IP_TTL, o.hops, "hops");
}

void set_v6(option_setter& s, const datagram_options& o) noexcept {
    s.set(true, IPPROTO_IPV6, IPV6_V6ONLY, o.v6_only ? 1 : 0, "v6_only")
        .set(o.tell_destination, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1, "tell_destination")
        .set(o.tell_hops, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, "tell_hops")
        .set(o.tell_traffic_class, IPPROTO_IPV6, IPV6_RECVTCLASS, 1, "tell_traffic_class")
        .set(o.traffic_class >= 0, IPPROTO_IPV6, IPV6_TCLASS, o.traffic_class, "traffic_class")
        .set(o.path_mtu != path_mtu_mode::system, IPPROTO_IPV6, IPV6_MTU_DISCOVER,
             discovery(o.path_mtu), "path_mtu")
        .set(o.hops > 0, IPPROTO_IPV6, IPV6_UNICAST_HOPS, o.hops, "hops");
}

/// IPv4 takes the low byte of what is out of range.
std::expected<void, error> check_ranges(const datagram_options& o) noexcept {
    const char* wrong = nullptr;
    if (o.hops < 0 || o.hops > 255) wrong = "hops";
    if (o.traffic_class < -1 || o.traffic_class > 255) wrong = "traffic_class";
    if (wrong == nullptr) return {};
    return std::unexpected(error(std::errc::invalid_argument, wrong));
}

/// Sets an option that may fail without harm.
void try_option(int fd, bool wanted, int level, int name, int value) noexcept {
    if (wanted) static_cast<void>(::setsockopt(fd, level, name, &value, sizeof value));
}

}  // namespace

std::expected<void, error> set_datagram_options(int fd, int family,
                                                const datagram_options& o) noexcept {
    if (auto good = check_ranges(o); !good) return good;
    try_option(fd, o.send_buffer != 0, SOL_SOCKET, SO_SNDBUF, o.send_buffer);
    try_option(fd, o.receive_buffer != 0, SOL_SOCKET, SO_RCVBUF, o.receive_buffer);
    option_setter s(fd);
    s.set(o.tell_time, SOL_SOCKET, SO_TIMESTAMPNS, 1, "tell_time");
    if (family == AF_UNIX) {
        s.set(o.tell_credentials, SOL_SOCKET, SO_PASSCRED, 1, "tell_credentials");
        return s.result();
    }
    try_option(fd, o.join_segments, IPPROTO_UDP, UDP_GRO, 1);
    s.set(o.reuse_address, SOL_SOCKET, SO_REUSEADDR, 1, "reuse_address")
        .set(o.reuse_port, SOL_SOCKET, SO_REUSEPORT, 1, "reuse_port")
        .set(o.broadcast, SOL_SOCKET, SO_BROADCAST, 1, "broadcast")
        .set(o.mark != 0, SOL_SOCKET, SO_MARK, static_cast<int>(o.mark), "mark")
        .set(o.device);
    if (family == AF_INET6) set_v6(s, o);
    if (family == AF_INET || !o.v6_only) set_v4(s, o);
    return s.result();
}

}  // namespace coracle::detail
