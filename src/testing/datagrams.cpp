// Simulated datagrams: lost, doubled and late ones, and those that just arrive.

#include "testing/world.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

constexpr std::size_t largest_datagram = 65'507;

bool is_wildcard(const net::address& a) {
    return a.host() == "0.0.0.0" || a.host() == "::";
}

}  // namespace

std::expected<int, error> world::open_datagram(endpoint& at) {
    const auto refuse = [](int number, const char* operation) {
        return std::unexpected(error(std::error_code(number, std::generic_category()), operation));
    };
    net::address a = net::address::from(at);
    if (a.family() == net::family::none) return refuse(EAFNOSUPPORT, "socket");
    if (mishap(options.faults.no_descriptors)) return refuse(EMFILE, "socket");
    while (has_port(a) && a.port() == 0) {
        const net::address candidate = with_port(a, next_port());
        if (!sockets_.contains(candidate.to_string())) a = candidate;
    }
    ref<datagram_socket> s(new datagram_socket);
    s->at = a.to_endpoint();
    s->key = a.to_string();
    if (sockets_.contains(s->key)) return refuse(EADDRINUSE, "bind");
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
        if (a.family() == net::family::v4) found = sockets_.find("0.0.0.0:" + port);
        if (found == sockets_.end()) found = sockets_.find("[::]:" + port);
    }
    return found == sockets_.end() ? ref<datagram_socket>() : found->second;
}

std::int64_t world::try_send_to(datagram_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
    if (op.bytes.size > largest_datagram) return -EMSGSIZE;
    const auto size = static_cast<std::int64_t>(op.bytes.size);
    const ref<datagram_socket> to = who_receives(op.peer);
    if (!to) return size;
    datagram what{n->socket->at, std::string(op.bytes.data, op.bytes.size)};
    net::address from = net::address::from(n->socket->at);
    if (is_wildcard(from)) {
        from = *net::address::parse(from.family() == net::family::v4 ? "127.0.0.1:0" : "[::1]:0");
        what.from = with_port(from, net::address::from(n->socket->at).port()).to_endpoint();
    }
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

void world::send_datagram(datagram_socket& to, datagram what) {
    const fault_options& f = options.faults;
    if (!mishap(f.late_datagrams)) {
        to.last_due = std::max(to.last_due, now_ + latency());
        to.flying.push_back(std::move(what));
        return schedule(event_kind::datagram, to.last_due, to);
    }
    tell("fault: a datagram is late");
    ref<stray> s(new stray);
    s->to = ref<datagram_socket>(&to);
    s->what = std::move(what);
    const auto most = static_cast<std::uint64_t>(f.late_max.count());
    const duration later(static_cast<std::int64_t>(mishaps_.up_to(most)));
    schedule(event_kind::stray_datagram, now_ + latency() + later, *s);
}

void world::datagram_arrives(datagram_socket& to, datagram what) {
    if (!to.open || to.queue.size() >= options.datagrams) return;
    to.queue.push_back(std::move(what));
    wake(to.owner);
}

std::int64_t world::try_receive_from(datagram_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr || !n->socket) return -EBADF;
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

}  // namespace coracle::testing::detail
