// Simulated datagrams: lost, doubled and late ones, and those that just arrive.

#include "testing/world.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t largest_datagram = 65'507;

}  // namespace

bool world::is_taken(const net::address& a, const datagram_options& o) const {
    return std::ranges::any_of(sockets_, [&](const auto& of_key) {
        const datagram_socket& there = *of_key.second;
        const net::address at = net::address::from(there.at);
        const bool both_share =
            (o.reuse_port && there.shares_port) || (o.reuse_address && there.shares_address);
        // Here each address has one socket.
        return a == at || (!both_share && overlap({a, o.v6_only}, {at, there.v6_only}));
    });
}

std::expected<int, error> world::open_datagram(endpoint& at, const datagram_options& o) {
    const auto refuse = [](int number, const char* operation) {
        return std::unexpected(error(std::error_code(number, std::generic_category()), operation));
    };
    net::address a = net::address::from(at);
    if (a.family() == net::family::none) return refuse(EAFNOSUPPORT, "socket");
    if (mishap(options.faults.no_descriptors)) return refuse(EMFILE, "socket");
    while (has_port(a) && a.port() == 0) {
        const net::address candidate = with_port(a, next_port());
        if (!is_taken(candidate, datagram_options())) a = candidate;
    }
    ref<datagram_socket> s(new datagram_socket);
    s->at = a.to_endpoint();
    s->key = a.to_string();
    s->tells_destination = o.tell_destination;
    s->shares_port = o.reuse_port;
    s->shares_address = o.reuse_address;
    s->v6_only = o.v6_only;
    if (is_taken(a, o)) return refuse(EADDRINUSE, "bind");
    node n;
    n.socket = s;
    auto fd = new_node(std::move(n));
    if (!fd) return fd;
    at = s->at;
    std::string key = s->key;
    sockets_.emplace(std::move(key), std::move(s));
    return fd;
}

ref<datagram_socket> world::who_receives(const endpoint& at) {
    const net::address a = net::address::from(at);
    auto found = sockets_.find(a.to_string());
    if (found == sockets_.end() && has_port(a)) {
        const std::string port = std::to_string(a.port());
        const bool is_v4 = a.family() == net::family::v4;
        if (is_v4) found = sockets_.find("0.0.0.0:" + port);
        if (found == sockets_.end()) found = sockets_.find("[::]:" + port);
        if (is_v4 && found != sockets_.end() && found->second->v6_only) found = sockets_.end();
    }
    return found == sockets_.end() ? ref<datagram_socket>() : found->second;
}

/// Connects a datagram socket: only the peer's datagrams arrive, and sending to a peer without a
/// socket fails from now on, as by ICMP.
std::int64_t world::connect_datagram(datagram_socket& s, const endpoint& peer) {
    s.peer =
        net::address::from(peer).family() == net::family::none ? endpoint() : destination(peer);
    s.failure = 0;
    return 0;
}

std::int64_t world::send_one(datagram_socket& from, const endpoint& peer, std::string_view bytes) {
    if (from.failure != 0) return -std::exchange(from.failure, 0);
    if (peer.size == 0 && from.peer.size == 0) return -EDESTADDRREQ;
    if (bytes.size() > largest_datagram) return -EMSGSIZE;
    const auto size = static_cast<std::int64_t>(bytes.size());
    const endpoint target = peer.size == 0 ? from.peer : destination(peer);
    const ref<datagram_socket> to = who_receives(target);
    if (!to) {
        if (peer.size != 0) return size;
        from.failure = ECONNREFUSED;
        wake(from.owner);
        return size;
    }
    datagram what{destination(from.at), std::string(bytes), target};
    const fault_options& f = options.faults;
    if (mishap(f.lost_datagrams)) {
        tell("fault: a datagram is lost");
        return size;
    }
    if (mishap(f.doubled_datagrams)) {
        tell("fault: a datagram is doubled");
        send_datagram(*to, what);
    }
    send_datagram(*to, std::move(what));
    return size;
}

std::int64_t world::try_send_to(datagram_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
    return send_one(*n->socket, op.peer, {op.bytes.data, op.bytes.size});
}

/// One slot may hold several datagrams, as with the kernel's UDP_SEGMENT.
std::int64_t world::try_send_many(messages_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
    for (; op.next != op.slots.size(); ++op.next) {
        message_slot& slot = op.slots[op.next];
        if (slot.passed != nullptr) return -ENOTSUP;
        std::string_view left(slot.data, slot.size);
        std::int64_t sent = 0;
        do {
            const std::size_t size = slot.segment == 0 ? left.size() : slot.segment;
            sent = send_one(*n->socket, slot.peer, left.substr(0, size));
            left.remove_prefix(std::min(size, left.size()));
        } while (sent >= 0 && !left.empty());
        if (sent < 0)
            slot.failure = static_cast<std::int32_t>(-sent);
        else
            ++op.sent;
    }
    return static_cast<std::int64_t>(op.sent);
}

void world::send_datagram(datagram_socket& to, datagram what) {
    const fault_options& f = options.faults;
    if (!mishap(f.late_datagrams)) {
        to.last_due = std::max(to.last_due, now_ + latency());
        to.flying.push_back(std::move(what));
        return schedule(event_kind::datagram, to.last_due, to);
    }
    tell("fault: a datagram is late");
    ref<late_datagram> s(new late_datagram);
    s->to = ref<datagram_socket>(&to);
    s->what = std::move(what);
    const auto most = static_cast<std::uint64_t>(f.late_max.count());
    const duration later(static_cast<std::int64_t>(mishaps_.up_to(most)));
    schedule(event_kind::late_datagram, now_ + latency() + later, *s);
}

void world::datagram_arrives(datagram_socket& to, datagram what) {
    if (!to.open || to.queue.size() >= options.datagrams) return;
    if (to.peer.size != 0 && net::address::from(to.peer) != net::address::from(what.from)) return;
    to.queue.push_back(std::move(what));
    wake(to.owner);
}

std::int64_t world::try_receive_from(datagram_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
    if (n->socket->failure != 0) return -std::exchange(n->socket->failure, 0);
    if (n->socket->queue.empty()) return -EAGAIN;
    const datagram what = std::move(n->socket->queue.front());
    n->socket->queue.pop_front();
    const std::size_t size = std::min(what.bytes.size(), op.capacity);
    op.into = buffer(std::max<std::size_t>(size, 1));
    op.into.append(std::string_view(what.bytes).substr(0, size));
    op.truncated = size != what.bytes.size();
    op.peer = what.from;
    return static_cast<std::int64_t>(size);
}

void world::take_datagram(datagram_socket& from, message_slot& slot) {
    const datagram what = std::move(from.queue.front());
    from.queue.pop_front();
    slot.size = what.bytes.copy(slot.data, slot.room);
    slot.truncated = slot.size != what.bytes.size();
    slot.peer = what.from;
    slot.segment = 0;
    slot.ip_size = 0;
    if (!from.tells_destination) return;
    const net::address to = net::address::from(what.to);
    slot.ip_size = static_cast<std::uint8_t>(to.bytes().size());
    std::copy(to.bytes().begin(), to.bytes().end(), slot.destination.begin());
    slot.source = slot.destination;
}

std::int64_t world::try_receive_many(messages_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
    datagram_socket& s = *n->socket;
    if (s.failure != 0) return -std::exchange(s.failure, 0);
    if (s.queue.empty()) return -EAGAIN;
    if (op.into != nullptr) {
        *op.into = buffer(op.largest);
        op.slots[0].data = op.into->spare();
        op.slots[0].room = op.largest;
    }
    std::size_t count = std::min({op.slots.size(), s.queue.size(), messages_operation::most});
    if (count > 1 && falters(8)) count = part_of(count);
    for (message_slot& slot : op.slots.first(count)) take_datagram(s, slot);
    if (op.into != nullptr) op.into->commit(op.slots[0].size);
    return static_cast<std::int64_t>(count);
}

}  // namespace coracle::testing::detail
