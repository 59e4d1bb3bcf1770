// How bytes, ends and resets travel between the two ends of a simulated connection.

#include "testing/world.hpp"

#include <coracle/net/address.hpp>
#include <coracle/net/file.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

/// Beyond this a direction is no longer cut finely: each piece is an event.
constexpr std::size_t finely = 2048;

constexpr unsigned most_attempts = 6;  ///< of a client whose call finds the backlog full

}  // namespace

cutting world::choose_cutting() {
    if (!options.split) return cutting::none;
    switch (chance_.up_to(3)) {
        case 0: return cutting::none;
        case 1: return cutting::fine;
        default: return cutting::mixed;
    }
}

std::size_t world::cut(std::size_t n, cutting how) {
    if (how == cutting::none) return n;
    if (how == cutting::fine && n <= finely) return std::min<std::size_t>(n, part_of(3));
    switch (chance_.up_to(3)) {
        case 0: return 1;
        case 1: return part_of(n);
        default: return n;
    }
}

std::int64_t world::begin_connect(address_operation& op) {
    node* n = find(op.on->fd);
    if (n == nullptr) return -EBADF;
    if (n->connection != nullptr) return -EISCONN;
    auto l = std::make_shared<link>();
    l->id = ++links_;
    l->remote = op.peer;
    const net::address to = net::address::from(op.peer);
    last_port_ = last_port_ == 65535 ? 49152 : static_cast<std::uint16_t>(last_port_ + 1);
    l->local = op.peer;
    if (to.family() == net::family::v4) {
        l->local = net::address::v4({127, 0, 0, 1}, last_port_).to_endpoint();
    } else if (to.family() == net::family::v6) {
        l->local = net::address::parse("[::1]:" + std::to_string(last_port_))->to_endpoint();
    }
    for (end& e : l->ends) e.in.cut = choose_cutting();
    l->at(side::client).owner = op.on;
    n->connection = l;
    n->which = side::client;
    schedule(event_kind::call, now_ + latency(), l, side::server);
    return -EAGAIN;
}

void world::call_arrives(const std::shared_ptr<link>& l) {
    if (!l->at(side::client).open) return;
    const auto who = who_listens(l->remote);
    if (who == nullptr) {
        schedule(event_kind::refused, now_ + latency(), l, side::client, ECONNREFUSED);
        return;
    }
    if (who->queue.size() >= who->backlog) {
        // The call is lost, and repeated after a second, two, four: as TCP does.
        const duration pause = std::chrono::seconds(1 << l->attempts);
        if (++l->attempts == most_attempts) {
            schedule(event_kind::refused, now_ + pause, l, side::client, ETIMEDOUT);
        } else {
            schedule(event_kind::call, now_ + pause, l, side::server);
        }
        return;
    }
    l->at(side::server).connected = true;
    schedule(event_kind::established, next_due(l->at(side::client).in), l, side::client);
    who->queue.push_back(l);
    if (who->owner != nullptr) completes->input_ready(*who->owner);
}

std::int64_t world::try_accept(address_operation& op) {
    node* n = find(op.on->fd);
    if (n == nullptr || n->listener == nullptr) return -EINVAL;
    auto& queue = n->listener->queue;
    if (queue.empty()) return -EAGAIN;
    if (open_ >= options.descriptors) return -EMFILE;
    const std::shared_ptr<link> l = std::move(queue.front());
    queue.pop_front();
    if (l->at(side::server).broken && chance_.one_in(2)) {
        close_end(l, side::server, false);
        return -ECONNABORTED;
    }
    op.peer = l->local;
    node accepted;
    accepted.connection = l;
    accepted.which = side::server;
    const auto fd = new_node(std::move(accepted));
    return fd ? *fd : -EMFILE;
}

std::int64_t world::try_receive(receive_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr) return -EBADF;
    if (n->connection == nullptr || !n->connection->at(n->which).connected) return -ENOTCONN;
    end& e = n->connection->at(n->which);
    const std::string_view readable = e.in.readable();
    if (readable.empty()) {
        if (e.broken) return -ECONNRESET;
        return e.in.ended ? 0 : -EAGAIN;
    }
    if (!op.into) op.into = buffer(op.capacity);
    std::size_t size = std::min(readable.size(), op.into.spare_size());
    if (size != 0 && falters(4)) size = part_of(size);
    std::copy_n(readable.data(), size, op.into.spare());
    op.into.commit(size);
    e.in.take(size);
    e.in.freed += size;
    // As with TCP, a window that opens by a little is not worth telling.
    if (e.in.freed >= options.send_buffer / 16 || (e.in.arrived.empty() && e.in.flying.empty())) {
        schedule(event_kind::room, now_ + latency(), n->connection, other(n->which),
                 std::exchange(e.in.freed, 0));
    }
    return static_cast<std::int64_t>(size);
}

std::int64_t world::send_some(int fd, std::string_view bytes) {
    const node* n = find(fd);
    if (n == nullptr) return -EBADF;
    if (n->connection == nullptr || !n->connection->at(n->which).connected) return -ENOTCONN;
    const end& e = n->connection->at(n->which);
    pipe& out = n->connection->at(other(n->which)).in;
    if (out.shut) return -EPIPE;
    if (e.broken) return e.in.ended ? -EPIPE : -ECONNRESET;
    const std::size_t room = options.send_buffer - std::min(options.send_buffer, out.occupied);
    if (room == 0) return -EAGAIN;
    std::size_t size = std::min(room, bytes.size());
    if (size != 0 && falters(4)) size = part_of(size);
    out.occupied += size;
    for (std::string_view left = bytes.substr(0, size); !left.empty();) {
        const std::size_t piece = cut(left.size(), out.cut);
        out.flying.emplace_back(left.substr(0, piece));
        left.remove_prefix(piece);
        schedule(event_kind::bytes, next_due(out), n->connection, other(n->which), piece);
    }
    return static_cast<std::int64_t>(size);
}

std::int64_t world::try_send_all(send_operation& op) {
    while (!op.slices.empty()) {
        slice& first = op.slices[0];
        if (first.size != 0) {
            const std::int64_t sent = send_some(op.on->fd, {first.data, first.size});
            if (sent < 0) return sent;
            op.sent += sent;
            first.data += sent;
            first.size -= static_cast<std::size_t>(sent);
        }
        if (first.size == 0) op.slices = op.slices.subspan(1);
    }
    return op.sent;
}

std::int64_t world::try_send_file(send_file_operation& op) {
    while (op.file_size != 0) {
        const node* n = find(op.on->fd);
        if (n == nullptr || n->connection == nullptr) return -ENOTCONN;
        const pipe& out = n->connection->at(other(n->which)).in;
        const std::size_t room = options.send_buffer - std::min(options.send_buffer, out.occupied);
        // Without room the only question is whether the connection stands: the read is for nothing.
        char piece[16 * 1024];
        const std::size_t wanted =
            std::min({room == 0 ? 1 : room, sizeof piece, static_cast<std::size_t>(op.file_size)});
        net::file source(op.file, {});
        const auto read =
            source.read_at(static_cast<std::uint64_t>(op.file_offset), {piece, wanted});
        source.release();
        if (!read) return -read.error().code().value();
        if (*read == 0) return -ENODATA;
        const std::int64_t sent = send_some(op.on->fd, {piece, *read});
        if (sent < 0) return sent;
        op.sent += sent;
        op.file_offset += sent;
        op.file_size -= sent;
    }
    return op.sent;
}

void world::shut_output(int fd) {
    const node* n = find(fd);
    if (n == nullptr || n->connection == nullptr) return;
    end& e = n->connection->at(n->which);
    pipe& out = n->connection->at(other(n->which)).in;
    if (!e.connected || e.broken || out.shut) return;
    out.shut = true;
    schedule(event_kind::finish, next_due(out), n->connection, other(n->which));
}

bool world::hung_up(int fd) {
    const node* n = find(fd);
    if (n == nullptr || n->connection == nullptr) return false;
    const end& e = n->connection->at(n->which);
    return e.in.ended || e.broken;
}

void world::send_reset(const std::shared_ptr<link>& l, side towards) {
    end& e = l->at(towards);
    if (e.doomed) return;
    e.doomed = true;
    schedule(event_kind::reset, next_due(e.in), l, towards);
}

void world::close_end(const std::shared_ptr<link>& l, side which, bool reset) {
    end& e = l->at(which);
    end& peer = l->at(other(which));
    e.open = false;
    e.owner = nullptr;
    const bool unread = !e.in.readable().empty();
    e.in.drop_arrived();
    if (!e.connected) {
        // A client that gives up while its call is under way; one that was not heard yet is lost.
        if (peer.connected) send_reset(l, other(which));
        return;
    }
    if (e.broken) return;
    // RFC 9293 section 3.6.1: closing with bytes unread says that they are lost.
    if (reset || unread) {
        send_reset(l, other(which));
    } else if (!peer.in.shut) {
        peer.in.shut = true;
        schedule(event_kind::finish, next_due(peer.in), l, other(which));
    }
}

void world::bytes_arrive(const std::shared_ptr<link>& l, side towards) {
    end& e = l->at(towards);
    const std::string piece = std::move(e.in.flying.front());
    e.in.flying.pop_front();
    note(event_kind::bytes, l.get(), piece.size(), piece);
    if (e.broken) return;
    if (!e.open) return send_reset(l, other(towards));
    e.in.arrived += piece;
    wake_end(e);
}

void world::finish_arrives(link& l, side towards) {
    end& e = l.at(towards);
    if (e.broken || !e.open) return;
    e.in.ended = true;
    wake_end(e);
}

void world::reset_arrives(link& l, side towards) {
    end& e = l.at(towards);
    e.broken = true;
    e.in.drop_arrived();
    wake_end(e);
}

void world::wake_end(end& e) {
    // Each of these may close the descriptor.
    descriptor* const d = e.owner;
    if (d != nullptr) completes->input_ready(*d);
    if (e.owner == d && d != nullptr) completes->output_ready(*d);
    if (e.owner != d || d == nullptr || d->watch == nullptr || !(e.in.ended || e.broken)) return;
    hangup_watch& w = *std::exchange(d->watch, nullptr);
    w.gone(w);
}

}  // namespace coracle::testing::detail
