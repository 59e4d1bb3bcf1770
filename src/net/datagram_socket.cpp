#include <coracle/net/datagram_socket.hpp>

#include <linux/sock_diag.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <string>

namespace coracle::net {
namespace {

error refusal(const char* operation, std::string_view subject) {
    // A simulated socket has no descriptor of the system.
    const int number = errno == EBADF ? ENOTSUP : errno;
    error e(std::error_code(number, std::generic_category()), operation);
    return std::move(e.on(subject));
}

template <class T>
std::expected<void, error> set(const detail::message_end& e, int level, int name, const T& value,
                               const char* operation, const std::string& subject) {
    if (::setsockopt(e.on.fd, level, name, &value, sizeof value) == 0) return {};
    return std::unexpected(refusal(operation, subject));
}

template <class T>
std::expected<T, error> get(const detail::message_end& e, int level, int name,
                            const char* operation) {
    T value{};
    socklen_t size = sizeof value;
    if (::getsockopt(e.on.fd, level, name, &value, &size) == 0) return value;
    return std::unexpected(refusal(operation, e.local.to_string()));
}

bool is_v4(const detail::message_end& e) noexcept {
    return e.local.family() == net::family::v4;
}

/// Returns true for an IPv6 socket whose IPv4 datagrams go by options of their own.
bool has_both(const detail::message_end& e) noexcept {
    if (is_v4(e)) return false;
    const auto only = get<int>(e, IPPROTO_IPV6, IPV6_V6ONLY, "v6_only");
    return only && *only == 0;
}

/// Sets an option that has a name and a value of its own in each family.
template <class V4>
std::expected<void, error> set_of_families(const detail::message_end& e, int v4_name, int v6_name,
                                           const V4& v4, int v6, const char* operation) {
    const std::string subject = e.local.to_string();
    const bool has_v6 = !is_v4(e);
    if (!has_v6 || has_both(e)) {
        auto done = set(e, IPPROTO_IP, v4_name, v4, operation, subject);
        if (!done || !has_v6) return done;
    }
    return set(e, IPPROTO_IPV6, v6_name, v6, operation, subject);
}

int level_of(const address& group) noexcept {
    return group.family() == net::family::v4 ? int{IPPROTO_IP} : int{IPPROTO_IPV6};
}

void put(sockaddr_storage& to, const address& a) noexcept {
    const endpoint e = a.to_endpoint();
    std::memcpy(&to, e.bytes, e.size);
}

std::expected<void, error> change_group(const detail::message_end& e, int name,
                                        const address& group, unsigned interface,
                                        const char* operation) {
    group_req request{};
    request.gr_interface = interface;
    put(request.gr_group, group);
    return set(e, level_of(group), name, request, operation, group.host());
}

std::expected<void, error> change_source(const detail::message_end& e, int name,
                                         const address& group, const address& sender,
                                         unsigned interface, const char* operation) {
    group_source_req request{};
    request.gsr_interface = interface;
    put(request.gsr_group, group);
    put(request.gsr_source, sender);
    return set(e, level_of(group), name, request, operation,
               group.host() + " from " + sender.host());
}

address destination_of(const message_slot& slot, std::uint16_t port) noexcept {
    if (slot.ip_size == 4) {
        std::array<std::uint8_t, 4> bytes{};
        std::memcpy(bytes.data(), slot.destination.data(), bytes.size());
        return address::v4(bytes, port);
    }
    return slot.ip_size == 16 ? address::v6(slot.destination, port) : address();
}

void tell(datagram_info& info, const message_slot& slot, std::uint16_t port) {
    info.from = address::from(slot.peer);
    info.to = destination_of(slot, port);
    info.interface = slot.interface;
    info.truncated = slot.truncated;
    info.hops = slot.hops;
    info.traffic_class = slot.traffic_class;
    info.time_ns = slot.time_ns;
    info.sender = slot.sender;
    info.segment = slot.segment;
}

std::size_t bytes_of(std::size_t count, std::size_t room) {
    std::size_t all = 0;
    if (__builtin_mul_overflow(count, room, &all)) throw std::bad_alloc();
    return all;
}

}  // namespace

// ---- a batch ------------------------------------------------------------------------------------

datagram_batch::datagram_batch(std::size_t count, std::size_t room)
    : slots_(count), memory_(new char[bytes_of(count, room)]), room_(room) {
    for (std::size_t i = 0; i != count; ++i) {
        slots_[i].data = memory_.get() + i * room;
        slots_[i].room = room;
    }
}

bool datagram_batch::add(std::string_view bytes, const address& to) {
    if (size_ == slots_.size() || bytes.size() > room_) return false;
    message_slot& slot = slots_[size_++];
    slot.peer = to.to_endpoint();
    slot.size = bytes.copy(slot.data, bytes.size());
    slot.segment = 0;
    slot.failure = 0;
    slot.ip_size = 0;
    return true;
}

datagram_info datagram_batch::info(std::size_t i) const {
    datagram_info info;
    tell(info, slots_[i], port_);
    return info;
}

// ---- operations ---------------------------------------------------------------------------------

std::expected<datagram, error> receiving::result() {
    if (io_operation::result < 0) {
        return std::unexpected(
            end_->failure(io_operation::result, name, phase::receive, endpoint(), 0));
    }
    datagram d;
    tell(d, slot_, end_->local.port());
    d.bytes = std::move(bytes_);
    d.source = slot_.source;
    d.source_size = slot_.ip_size;
    return d;
}

bool receiving_many::start() noexcept {
    batch_->size_ = 0;
    // There is no space for a datagram, so there is nothing to wait for.
    if (batch_->slots_.empty()) {
        io_operation::result = 0;
        return may_begin();
    }
    return begin(batch_->slots_);
}

std::expected<std::size_t, error> receiving_many::result() {
    if (io_operation::result < 0) {
        return std::unexpected(
            end_->failure(io_operation::result, name, phase::receive, endpoint(), 0));
    }
    batch_->port_ = end_->local.port();
    batch_->size_ = static_cast<std::size_t>(io_operation::result);
    return batch_->size_;
}

std::expected<std::size_t, error> sending::result() {
    const std::int64_t failure =
        io_operation::result < 0 ? io_operation::result : -std::int64_t{slot_.failure};
    if (failure == 0) return size_;
    const std::size_t size = slot_.segment != 0 ? std::size_t{slot_.segment} : size_;
    return std::unexpected(end_->failure(failure, name, phase::send, slot_.peer, size));
}

bool sending_many::start() noexcept {
    for (std::size_t i = 0; i != batch_->size_; ++i) batch_->slots_[i].failure = 0;
    return begin(std::span(batch_->slots_).first(batch_->size_));
}

std::expected<std::size_t, error> sending_many::result() {
    const auto refused = [this](const message_slot& slot, std::int64_t number) {
        return std::unexpected(end_->failure(number, name, phase::send, slot.peer, slot.size));
    };
    if (io_operation::result < 0) return refused({}, io_operation::result);
    if (sent == 0 && batch_->size_ != 0) {
        const message_slot& first = batch_->slots_[0];
        return refused(first, -std::int64_t{first.failure});
    }
    return sent;
}

// ---- the socket ---------------------------------------------------------------------------------

std::expected<unsigned, error> interface_index(std::string_view name) {
    const std::string text(name);
    const unsigned index = ::if_nametoindex(text.c_str());
    if (index != 0) return index;
    return std::unexpected(refusal("interface_index", name));
}

std::expected<datagram_socket, error> datagram_socket::open(loop& owner, const address& at,
                                                            const datagram_options& options) {
    endpoint e = at.to_endpoint();
    if (at.family() == net::family::none) {
        const sa_family_t unnamed = AF_UNIX;
        std::memcpy(e.bytes, &unnamed, sizeof unnamed);
        e.size = sizeof unnamed;
    }
    auto fd = owner.backend().open_datagram(e, options);
    if (!fd) return std::unexpected(fd.error().on(at.to_string()));
    auto end = detail::message_end::adopt(owner, *fd);
    if (!end) return std::unexpected(std::move(end).error());
    (*end)->local = address::from(e);
    return datagram_socket(*std::move(end), options);
}

std::expected<void, error> datagram_socket::join(const address& group, unsigned interface) {
    return change_group(*end_, MCAST_JOIN_GROUP, group, interface, "join");
}

std::expected<void, error> datagram_socket::join(const address& group, const address& sender,
                                                 unsigned interface) {
    return change_source(*end_, MCAST_JOIN_SOURCE_GROUP, group, sender, interface, "join");
}

std::expected<void, error> datagram_socket::leave(const address& group, unsigned interface) {
    return change_group(*end_, MCAST_LEAVE_GROUP, group, interface, "leave");
}

std::expected<void, error> datagram_socket::leave(const address& group, const address& sender,
                                                  unsigned interface) {
    return change_source(*end_, MCAST_LEAVE_SOURCE_GROUP, group, sender, interface, "leave");
}

std::expected<void, error> datagram_socket::multicast_loop(bool on) {
    return set_of_families(*end_, IP_MULTICAST_LOOP, IPV6_MULTICAST_LOOP, on ? 1 : 0, on ? 1 : 0,
                           "multicast_loop");
}

std::expected<void, error> datagram_socket::multicast_hops(int hops) {
    if (hops < 0 || hops > 255) {
        error e(std::errc::invalid_argument, "multicast_hops");
        return std::unexpected(std::move(e.on(local().to_string())));
    }
    return set_of_families(*end_, IP_MULTICAST_TTL, IPV6_MULTICAST_HOPS, hops, hops,
                           "multicast_hops");
}

std::expected<void, error> datagram_socket::multicast_interface(unsigned interface) {
    ip_mreqn of_v4{};
    of_v4.imr_ifindex = static_cast<int>(interface);
    return set_of_families(*end_, IP_MULTICAST_IF, IPV6_MULTICAST_IF, of_v4,
                           static_cast<int>(interface), "multicast_interface");
}

std::expected<std::size_t, error> datagram_socket::path_mtu() const {
    auto mtu = is_v4(*end_) ? get<int>(*end_, IPPROTO_IP, IP_MTU, "path_mtu")
                            : get<int>(*end_, IPPROTO_IPV6, IPV6_MTU, "path_mtu");
    if (!mtu) return std::unexpected(std::move(mtu).error());
    return static_cast<std::size_t>(*mtu);
}

std::expected<std::uint64_t, error> datagram_socket::dropped() const {
    struct counts {
        std::uint32_t of[SK_MEMINFO_VARS];
    };
    auto all = get<counts>(*end_, SOL_SOCKET, SO_MEMINFO, "dropped");
    if (!all) return std::unexpected(std::move(all).error());
    return all->of[SK_MEMINFO_DROPS];
}

std::expected<std::size_t, error> datagram_socket::receive_buffer() const {
    auto size = get<int>(*end_, SOL_SOCKET, SO_RCVBUF, "receive_buffer");
    if (!size) return std::unexpected(std::move(size).error());
    return static_cast<std::size_t>(*size);
}

}  // namespace coracle::net
