// The system calls for datagrams: one, or several in one call, and what goes with them.

#include "runtime/backend/datagram_options.hpp"
#include "runtime/backend/system_backend.hpp"
#include "runtime/backend/unix_path.hpp"

#include <coracle/runtime/datagram_operation.hpp>

#include <linux/udp.h>
#include <netinet/in.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <new>

namespace coracle::detail {
namespace {

constexpr std::size_t rights_room =
    CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(passed_objects::max_descriptors * sizeof(int));
/// pktinfo, time, hops, traffic class and segment size, of either family.
constexpr std::size_t ordinary_room = CMSG_SPACE(sizeof(in6_pktinfo)) + CMSG_SPACE(16) +
                                      4 * CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(in_pktinfo)) +
                                      CMSG_SPACE(sizeof(ucred));

struct ordinary_control {
    alignas(cmsghdr) char bytes[ordinary_room];
};
struct rights_control {
    alignas(cmsghdr) char bytes[rights_room];
};

template <class T>
T read_as(const cmsghdr& c) noexcept {
    T value{};
    std::memcpy(&value, CMSG_DATA(&c), sizeof value);
    return value;
}

void set_name(msghdr& m, endpoint& e) noexcept {
    m.msg_name = e.bytes;
    m.msg_namelen = sizeof e.bytes;
}

// ---- what is said of a received message ---------------------------------------------------------

void note_v4(message_slot& slot, const in_pktinfo& info) noexcept {
    slot.ip_size = 4;
    slot.interface = static_cast<std::uint32_t>(info.ipi_ifindex);
    slot.destination = {};
    slot.source = {};
    std::memcpy(slot.destination.data(), &info.ipi_addr, 4);
    std::memcpy(slot.source.data(), &info.ipi_spec_dst, 4);
}

void note_v6(message_slot& slot, const in6_pktinfo& info) noexcept {
    slot.ip_size = 16;
    slot.interface = info.ipi6_ifindex;
    std::memcpy(slot.destination.data(), &info.ipi6_addr, 16);
    slot.source = {};
    // A group has no address to send from.
    if (!IN6_IS_ADDR_MULTICAST(&info.ipi6_addr)) slot.source = slot.destination;
}

void note_ip(message_slot& slot, const cmsghdr& c) noexcept {
    switch (c.cmsg_type) {
        case IP_PKTINFO: return note_v4(slot, read_as<in_pktinfo>(c));
        case IP_TTL: slot.hops = static_cast<std::int16_t>(read_as<int>(c)); return;
        case IP_TOS: slot.traffic_class = read_as<unsigned char>(c); return;
        default: return;
    }
}

void note_ipv6(message_slot& slot, const cmsghdr& c) noexcept {
    switch (c.cmsg_type) {
        case IPV6_PKTINFO: return note_v6(slot, read_as<in6_pktinfo>(c));
        case IPV6_HOPLIMIT: slot.hops = static_cast<std::int16_t>(read_as<int>(c)); return;
        case IPV6_TCLASS: slot.traffic_class = static_cast<std::int16_t>(read_as<int>(c)); return;
        default: return;
    }
}

/// Takes ownership of the descriptors in any case. Returns false without memory.
bool take_rights(passed_objects* passed, const cmsghdr& c) noexcept {
    const std::size_t count = (c.cmsg_len - CMSG_LEN(0)) / sizeof(int);
    bool fits = true;
    for (std::size_t i = 0; i != count; ++i) {
        int number = -1;
        std::memcpy(&number, CMSG_DATA(&c) + i * sizeof number, sizeof number);
        owned_fd fd(number);
        if (passed == nullptr || !fits) continue;
        try {
            passed->received.push_back(std::move(fd));
        } catch (const std::bad_alloc&) {
            fits = false;
        }
    }
    return fits;
}

void note_socket(message_slot& slot, const cmsghdr& c) noexcept {
    if (c.cmsg_type == SO_TIMESTAMPNS) {
        const auto t = read_as<timespec>(c);
        slot.time_ns = std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
    } else if (c.cmsg_type == SCM_RIGHTS) {
        if (!take_rights(slot.passed, c)) slot.passed->truncated = true;
    } else if (c.cmsg_type == SCM_CREDENTIALS) {
        const auto of = read_as<ucred>(c);
        slot.sender = {of.pid, of.uid, of.gid};
    }
}

void settle_passed(message_slot& slot, const msghdr& m) noexcept {
    passed_objects& passed = *slot.passed;
    if ((m.msg_flags & MSG_CTRUNC) != 0 || passed.received.size() > passed.most) {
        passed.truncated = true;
    }
    if (passed.truncated) passed.received.clear();
}

/// Resets the fields that the system may leave out, so that none of an earlier message remain.
void reset_info(message_slot& slot) noexcept {
    const message_slot defaults{};
    slot.segment = defaults.segment;
    slot.ip_size = defaults.ip_size;
    slot.time_ns = defaults.time_ns;
    slot.interface = defaults.interface;
    slot.hops = defaults.hops;
    slot.traffic_class = defaults.traffic_class;
    slot.sender = defaults.sender;
}

void note_received(message_slot& slot, msghdr& m, std::size_t size) noexcept {
    reset_info(slot);
    slot.size = size < slot.room ? size : slot.room;
    slot.peer.size = m.msg_namelen;
    slot.truncated = (m.msg_flags & MSG_TRUNC) != 0;
    if (m.msg_controllen == 0) {
        if (slot.passed != nullptr) settle_passed(slot, m);
        return;
    }
    for (cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
        switch (c->cmsg_level) {
            case IPPROTO_IP: note_ip(slot, *c); break;
            case IPPROTO_IPV6: note_ipv6(slot, *c); break;
            case SOL_SOCKET: note_socket(slot, *c); break;
            case IPPROTO_UDP:
                if (c->cmsg_type == UDP_GRO) {
                    slot.segment = static_cast<std::uint32_t>(read_as<int>(*c));
                }
                break;
            default: break;
        }
    }
    if (slot.passed != nullptr) settle_passed(slot, m);
}

// ---- what is said of a message to send ----------------------------------------------------------

class control_writer {
public:
    /// Appends to the control data in `room`.
    control_writer(msghdr& m, void* room) noexcept
        : message_(m), at_(static_cast<char*>(room) + m.msg_controllen),
          begin_(static_cast<char*>(room)) {}

    void add(int level, int type, const void* data, std::size_t size) noexcept {
        std::memset(at_, 0, CMSG_SPACE(size));
        auto* const c = reinterpret_cast<cmsghdr*>(at_);
        c->cmsg_level = level;
        c->cmsg_type = type;
        c->cmsg_len = CMSG_LEN(size);
        if (size != 0) std::memcpy(CMSG_DATA(c), data, size);
        at_ += CMSG_SPACE(size);
        message_.msg_control = begin_;
        message_.msg_controllen = static_cast<std::size_t>(at_ - begin_);
    }

private:
    msghdr& message_;
    char* at_;
    char* begin_;
};

/// Sets the interface for link-local receivers only: replies to others follow the routes.
bool is_link_local(const endpoint& e) noexcept {
    sockaddr_in6 s{};
    std::memcpy(&s, e.bytes, sizeof s);
    return s.sin6_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&s.sin6_addr);
}

void add_source(control_writer& w, const message_slot& slot) noexcept {
    if (slot.ip_size == 4) {
        in_pktinfo info{};
        std::memcpy(&info.ipi_spec_dst, slot.source.data(), 4);
        w.add(IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
    } else {
        in6_pktinfo info{};
        std::memcpy(&info.ipi6_addr, slot.source.data(), 16);
        if (is_link_local(slot.peer)) info.ipi6_ifindex = slot.interface;
        w.add(IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
    }
}

void prepare_sending(msghdr& m, iovec& bytes, message_slot& slot, void* control) noexcept {
    bytes = {slot.data, slot.size};
    m = {};
    m.msg_iov = &bytes;
    m.msg_iovlen = 1;
    if (slot.peer.size != 0) {
        m.msg_name = slot.peer.bytes;
        m.msg_namelen = slot.peer.size;
    }
    if (slot.ip_size == 0 && slot.passed == nullptr) return;
    control_writer w(m, control);
    if (slot.ip_size != 0) add_source(w, slot);
    if (slot.passed != nullptr && !slot.passed->to_send.empty()) {
        const auto fds = slot.passed->to_send;
        w.add(SOL_SOCKET, SCM_RIGHTS, fds.data(), fds.size_bytes());
    }
}

void prepare_receiving(msghdr& m, iovec& bytes, message_slot& slot, void* control,
                       std::size_t room) noexcept {
    bytes = {slot.data, slot.room};
    set_name(m, slot.peer);
    m.msg_iov = &bytes;
    m.msg_iovlen = 1;
    m.msg_control = room == 0 ? nullptr : control;
    m.msg_controllen = room;
    m.msg_flags = 0;
}

constexpr int receive_flags = MSG_CMSG_CLOEXEC | MSG_DONTWAIT;

/// The space for control data with descriptors: little more than expected, because the kernel
/// installs all descriptors that fit.
std::size_t control_room(const passed_objects& p) noexcept {
    const std::size_t rights = p.most == 0 ? 0 : CMSG_SPACE(p.most * sizeof(int));
    return CMSG_SPACE(sizeof(ucred)) + rights;
}

/// A cheaper call: a too long datagram is recognized by its length.
std::int64_t receive_plain(int fd, message_slot& slot) noexcept {
    socklen_t size = sizeof slot.peer.bytes;
    const ssize_t n = ::recvfrom(fd, slot.data, slot.room, MSG_TRUNC | MSG_DONTWAIT,
                                 as_sockaddr(slot.peer), &size);
    if (n < 0) return -errno;
    slot.size = std::min(static_cast<std::size_t>(n), slot.room);
    slot.truncated = static_cast<std::size_t>(n) > slot.room;
    slot.peer.size = size;
    reset_info(slot);
    return 1;
}

std::int64_t receive_one(int fd, message_slot& slot) noexcept {
    msghdr m{};
    iovec bytes{};
    ordinary_control small;
    rights_control large;
    if (slot.passed == nullptr)
        prepare_receiving(m, bytes, slot, small.bytes, sizeof small.bytes);
    else
        prepare_receiving(m, bytes, slot, large.bytes, control_room(*slot.passed));
    const ssize_t n = ::recvmsg(fd, &m, receive_flags);
    if (n < 0) return -errno;
    note_received(slot, m, static_cast<std::size_t>(n));
    return 1;
}

std::int64_t send_one(int fd, message_slot& slot) noexcept {
    if (slot.ip_size == 0 && slot.passed == nullptr) {
        const sockaddr* const to = slot.peer.size == 0 ? nullptr : as_sockaddr(slot.peer);
        return ::sendto(fd, slot.data, slot.size, MSG_NOSIGNAL | MSG_DONTWAIT, to, slot.peer.size);
    }
    msghdr m;
    iovec bytes{};
    rights_control control;
    prepare_sending(m, bytes, slot, control.bytes);
    return ::sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/// Returns true for a message to a Unix socket that ours is not connected with: the queue that may
/// be full is that of the receiver, and poll(2) does not report when it has space.
bool is_for_another_queue(const message_slot& slot) noexcept {
    return slot.peer.size != 0 && as_sockaddr(slot.peer)->sa_family == AF_UNIX;
}

/// Returns the outcome of a send. Only a stream takes a part, when it is full; descriptors go with
/// the first bytes.
std::int64_t took(message_slot& slot, std::size_t size) noexcept {
    if (size == slot.size) return 1;
    slot.data += size;
    slot.size -= size;
    slot.passed = nullptr;
    return -EAGAIN;
}

/// The kernel takes at most 64 segments at once, and no more than one datagram's bytes.
std::size_t largest_train(std::size_t segment) noexcept {
    constexpr std::size_t most_segments = 64;
    constexpr std::size_t most_bytes = 65'487;  // that of IPv6, which is less than that of IPv4
    return std::max(segment, std::min(most_segments, most_bytes / segment) * segment);
}

std::int64_t send_train(int fd, const message_slot& slot, std::size_t offset,
                        std::size_t size) noexcept {
    message_slot train = slot;
    train.data += offset;
    train.size = size;
    if (size <= slot.segment) return send_one(fd, train);
    msghdr m;
    iovec bytes{};
    ordinary_control control;
    prepare_sending(m, bytes, train, control.bytes);
    const auto segment = static_cast<std::uint16_t>(slot.segment);
    control_writer w(m, control.bytes);
    w.add(IPPROTO_UDP, UDP_SEGMENT, &segment, sizeof segment);
    return ::sendmsg(fd, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool means_no_segments(int number) noexcept {
    return number == EIO || number == EINVAL || number == EOPNOTSUPP || number == ENOPROTOOPT ||
           number == EMSGSIZE;
}

}  // namespace

/// The headers for calls with several messages. Kept, because clearing their 20 KB each time would
/// be expensive.
struct message_headers {
    mmsghdr headers[messages_operation::most] = {};
    iovec bytes[messages_operation::most] = {};
    ordinary_control control[messages_operation::most];
};

system_backend::system_backend() noexcept = default;
system_backend::~system_backend() = default;

std::expected<int, error> system_backend::open_datagram(endpoint& at,
                                                        const datagram_options& o) noexcept {
    const int family = as_sockaddr(at)->sa_family;
    const int fd = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return std::unexpected(system_error(errno, "socket"));
    owned_fd owner(fd);
    if (auto set = set_datagram_options(fd, family, o); !set) return std::unexpected(set.error());
    const bool is_unnamed = family == AF_UNIX && at.size <= sizeof(sa_family_t);
    const path_claim claim(at, SOCK_DGRAM);
    if (!is_unnamed && ::bind(fd, as_sockaddr(at), at.size) != 0) {
        return std::unexpected(system_error(errno, "bind"));
    }
    if (auto local = local_endpoint(fd)) at = *local;
    return owner.release();
}

std::int64_t system_backend::receive_single(messages_operation& op) noexcept {
    message_slot& slot = op.slots[0];
    if (op.into != nullptr) {
        op.into->release();
        if (!op.into->try_obtain(op.largest)) return -ENOMEM;
        slot.data = op.into->spare();
        slot.room = op.largest;
    }
    std::int64_t n = 0;
    do {
        ++counters_.system_calls;
        n = op.is_plain ? receive_plain(op.on->fd, slot) : receive_one(op.on->fd, slot);
    } while (n == -EINTR);
    if (op.into == nullptr) return n;
    if (n > 0)
        op.into->commit(slot.size);
    else
        op.into->release();
    return n;
}

bool system_backend::has_headers() noexcept {
    if (headers_ == nullptr) headers_.reset(new (std::nothrow) message_headers);
    return headers_ != nullptr;
}

std::int64_t system_backend::try_receive_many(messages_operation& op) noexcept {
    if (op.slots.size() == 1 || !has_headers()) return receive_single(op);
    message_headers& h = *headers_;
    const std::size_t count = std::min(op.slots.size(), messages_operation::most);
    for (std::size_t i = 0; i != count; ++i) {
        prepare_receiving(h.headers[i].msg_hdr, h.bytes[i], op.slots[i], h.control[i].bytes,
                          op.is_plain ? 0 : ordinary_room);
    }
    int n = 0;
    do {
        ++counters_.system_calls;
        n = ::recvmmsg(op.on->fd, h.headers, static_cast<unsigned>(count), receive_flags, nullptr);
    } while (n < 0 && errno == EINTR);
    if (n < 0) return -errno;
    for (std::size_t i = 0; i != static_cast<std::size_t>(n); ++i) {
        note_received(op.slots[i], h.headers[i].msg_hdr, h.headers[i].msg_len);
    }
    return n;
}

std::int64_t system_backend::send_segments(messages_operation& op) noexcept {
    const message_slot& slot = op.slots[op.next];
    while (op.offset < slot.size) {
        const std::size_t most = op.cuts_itself ? slot.segment : largest_train(slot.segment);
        const std::size_t size = std::min(slot.size - op.offset, most);
        ++counters_.system_calls;
        if (send_train(op.on->fd, slot, op.offset, size) >= 0) {
            op.offset += size;
        } else if (size > slot.segment && means_no_segments(errno)) {
            op.cuts_itself = true;
        } else if (errno != EINTR) {
            return -errno;
        }
    }
    op.offset = 0;
    return 1;
}

/// Sends as many of the remaining slots as possible. Returns a count, or the negated errno of the
/// first one.
std::int64_t system_backend::send_some(messages_operation& op) noexcept {
    const std::span<message_slot> left = op.slots.subspan(op.next);
    const auto stands_alone = [](const message_slot& s) {
        return s.segment != 0 || s.passed != nullptr;
    };
    if (left[0].segment != 0) return send_segments(op);
    std::size_t count = std::min(left.size(), messages_operation::most);
    for (std::size_t i = 1; i < count; ++i) {
        if (stands_alone(left[i])) count = i;
    }
    ++counters_.system_calls;
    if (count == 1 || stands_alone(left[0]) || !has_headers()) {
        const std::int64_t n = send_one(op.on->fd, left[0]);
        return n < 0 ? -errno : took(left[0], static_cast<std::size_t>(n));
    }
    message_headers& h = *headers_;
    for (std::size_t i = 0; i != count; ++i) {
        prepare_sending(h.headers[i].msg_hdr, h.bytes[i], left[i], h.control[i].bytes);
    }
    const int n =
        ::sendmmsg(op.on->fd, h.headers, static_cast<unsigned>(count), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n < 0 ? -errno : n;
}

std::int64_t system_backend::try_send_many(messages_operation& op) noexcept {
    while (op.next != op.slots.size()) {
        const std::int64_t n = send_some(op);
        if (n == -EAGAIN && !is_for_another_queue(op.slots[op.next])) return n;
        if (n == -EINTR) continue;
        if (n < 0) {
            op.slots[op.next].failure = static_cast<std::int32_t>(-n);
            ++op.next;
            op.offset = 0;
        } else {
            op.next += static_cast<std::size_t>(n);
            op.sent += static_cast<std::size_t>(n);
        }
    }
    return static_cast<std::int64_t>(op.sent);
}

std::int64_t system_backend::try_receive_from(datagram_operation& op) noexcept {
    op.into.release();
    if (!op.into.try_obtain(op.capacity)) return -ENOMEM;
    iovec into{op.into.spare(), op.into.spare_size()};
    msghdr message{};
    message.msg_name = op.peer.bytes;
    message.msg_namelen = sizeof op.peer.bytes;
    message.msg_iov = &into;
    message.msg_iovlen = 1;
    ssize_t n = 0;
    do {
        ++counters_.system_calls;
        n = ::recvmsg(op.on->fd, &message, 0);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        const int number = errno;
        op.into.release();
        return -number;
    }
    op.into.commit(static_cast<std::size_t>(n));
    op.peer.size = message.msg_namelen;
    op.truncated = (message.msg_flags & MSG_TRUNC) != 0;
    return n;
}

std::int64_t system_backend::try_send_to(datagram_operation& op) noexcept {
    for (;;) {
        ++counters_.system_calls;
        const ssize_t n = ::sendto(op.on->fd, op.bytes.data, op.bytes.size, MSG_NOSIGNAL,
                                   as_sockaddr(op.peer), op.peer.size);
        if (n >= 0) return n;
        if (errno != EINTR) return -errno;
    }
}

}  // namespace coracle::detail
