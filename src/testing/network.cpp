// The travel of bytes, ends and resets between the two ends of a simulated connection.

#include "testing/world.hpp"

#include <coracle/fs/plain_file.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

/// The size beyond which a direction is no longer cut finely: each piece is an event.
constexpr std::size_t finely = 2048;

constexpr unsigned most_attempts = 7;  ///< of a client whose call finds the backlog full: 127 s

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

// ---- calls --------------------------------------------------------------------------------------

endpoint world::client_endpoint(const endpoint& remote, const endpoint& wanted) {
    if (wanted.size != 0) {
        const net::address from = net::address::from(wanted);
        return has_port(from) && from.port() == 0 ? with_port(from, next_port()).to_endpoint()
                                                  : wanted;
    }
    switch (net::address::from(remote).family()) {
        case net::family::v4: return net::address::v4({127, 0, 0, 1}, next_port()).to_endpoint();
        case net::family::v6: {
            std::array<std::uint8_t, 16> loopback{};
            loopback[15] = 1;
            return net::address::v6(loopback, next_port()).to_endpoint();
        }
        default:
            // A name as the system gives it when it binds a Unix socket by itself.
            return net::address::parse("unix:@" + std::to_string(links_))->to_endpoint();
    }
}

std::int64_t world::begin_connect(address_operation& op) {
    node* n = find(op.on->fd);
    if (n == nullptr) return -EBADF;
    if (n->socket) return connect_datagram(*n->socket, op.peer);
    if (n->connection) return -EISCONN;
    ref<link> l(new link);
    l->id = ++links_;
    l->remote = destination(op.peer);
    l->local = client_endpoint(l->remote, n->local);
    for (end& e : l->ends) e.in.cut = choose_cutting();
    l->at(side::client).owner = n->owner;
    n->connection = l;
    n->which = side::client;
    plan_faults(*l);
    return -EAGAIN;
}

std::int64_t world::try_connect(int fd) {
    const node* n = find(fd);
    if (n == nullptr || !n->connection) return -EBADF;
    const end& e = n->connection->at(n->which);
    if (e.connected) return 0;
    return e.refused != 0 ? -e.refused : -EAGAIN;
}

/// Returns the error of a call to `at`, where nobody listens. A path that nobody has bound does not
/// exist.
int world::refusal_of(const endpoint& at) const {
    const std::string text = net::address::from(at).to_string();
    const bool is_file = text.starts_with("unix:") && !text.starts_with("unix:@");
    return is_file && !bound_paths_.contains(text) ? ENOENT : ECONNREFUSED;
}

void world::call_arrives(link& l) {
    if (!l.at(side::client).open) return;
    listening* const who = who_listens(l.remote);
    if (who == nullptr) {
        schedule(event_kind::refused, now_ + latency(), l, side::client,
                 static_cast<std::uint64_t>(refusal_of(l.remote)));
        return;
    }
    if (who->queue.size() >= who->backlog) {
        // The call is lost, and repeated after a second, two, four: as TCP does.
        const duration pause = std::chrono::seconds(1 << l.attempts);
        if (++l.attempts == most_attempts) {
            schedule(event_kind::refused, now_ + pause, l, side::client, ETIMEDOUT);
        } else {
            schedule(event_kind::call, now_ + pause, l, side::server);
        }
        return;
    }
    l.at(side::server).connected = true;
    schedule(event_kind::established, next_due(l.at(side::client).in), l, side::client);
    who->queue.emplace_back(&l);
    for (const holder& h : who->owners) wake(h);
}

std::int64_t world::try_accept(address_operation& op) {
    node* n = find(op.on->fd);
    if (n == nullptr || !n->listener) return -EINVAL;
    listening& listener = *n->listener;
    if (listener.queue.empty()) return -EAGAIN;
    ref<link> l = listener.queue.front();
    if (open_ >= options.descriptors || mishap(options.faults.no_descriptors)) {
        listener.refused_one = true;
        mark(*l, fault::no_descriptors);
        return -EMFILE;
    }
    listener.queue.pop_front();
    if (std::exchange(listener.refused_one, false)) mark(*l, fault::no_descriptors);
    if (l->at(side::server).broken && chance_.one_in(2)) {
        close_end(*l, side::server, false);
        return -ECONNABORTED;
    }
    op.peer = l->local;
    node accepted;
    accepted.connection = std::move(l);
    accepted.which = side::server;
    const auto fd = new_node(std::move(accepted));
    return fd ? *fd : -EMFILE;
}

void world::turn_away(int fd) {
    node* n = find(fd);
    if (n == nullptr || !n->listener || n->listener->queue.empty()) return;
    const ref<link> l = std::move(n->listener->queue.front());
    n->listener->queue.pop_front();
    mark(*l, fault::no_descriptors);
    close_end(*l, side::server, false);
}

// ---- bytes --------------------------------------------------------------------------------------

std::int64_t world::try_receive(receive_operation& op) {
    const node* n = find(op.on->fd);
    if (n == nullptr) return -EBADF;
    if (!n->connection || !n->connection->at(n->which).connected) return -ENOTCONN;
    end& e = n->connection->at(n->which);
    const std::string_view readable = e.in.readable();
    if (readable.empty()) {
        if (e.broken) return after_reset(e, 0);
        return e.in.ended ? 0 : -EAGAIN;
    }
    if (!op.into) op.into = buffer(op.capacity);
    std::size_t size = std::min(readable.size(), op.into.spare_size());
    if (size != 0 && falters(4)) size = part_of(size);
    std::copy_n(readable.data(), size, op.into.spare());
    op.into.commit(size);
    e.in.take(size);
    e.in.freed += size;
    // As with TCP, a window that opens by a little is not announced.
    if (e.in.freed >= options.send_buffer / 16 || (e.in.readable().empty() && !e.in.flying())) {
        schedule(event_kind::room, now_ + latency(), *n->connection, other(n->which),
                 std::exchange(e.in.freed, 0));
    }
    return static_cast<std::int64_t>(size);
}

/// Returns the error of a call after a reset: it is reported to senders and receivers, unless the
/// end of the stream had come before it.
std::int64_t world::after_reset(const end& e, std::int64_t otherwise) noexcept {
    return e.in.ended ? otherwise : -ECONNRESET;
}

std::size_t world::room_for(const pipe& out) const noexcept {
    return options.send_buffer - std::min(options.send_buffer, out.occupied);
}

std::int64_t world::send_some(int fd, std::string_view bytes) {
    const node* n = find(fd);
    if (n == nullptr) return -EBADF;
    if (!n->connection || !n->connection->at(n->which).connected) return -ENOTCONN;
    link& l = *n->connection;
    end& e = l.at(n->which);
    pipe& out = l.at(other(n->which)).in;
    if (out.shut) return -EPIPE;
    if (e.broken) return after_reset(e, -EPIPE);
    const std::size_t room = room_for(out);
    if (room == 0) return -EAGAIN;
    std::size_t size = std::min(room, bytes.size());
    if (size != 0 && falters(4)) size = part_of(size);
    out.occupied += size;
    // Lost: the sender finds out when no room is made.
    if (out.severed || l.silent) return static_cast<std::int64_t>(size);
    if (l.stalls != 0) stall(l, out);
    out.bytes.append(bytes.substr(0, size));
    for (std::size_t left = size; left != 0;) {
        const std::size_t piece = cut(left, out.cut);
        left -= piece;
        schedule(event_kind::bytes, next_due(out), l, other(n->which), piece);
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

/// Reads from a simulated file or one of the system's, as its number has it.
std::expected<std::size_t, int> world::read_file(const send_file_operation& op,
                                                 std::span<char> into) const {
    const auto offset = static_cast<std::uint64_t>(op.file_offset);
    if (const ref<open_file> f = file_at(op.file)) {
        return f->node->content.read(offset, into.data(), into.size());
    }
    fs::plain_file source(op.file, {});
    const auto read = source.read_at(offset, into);
    static_cast<void>(source.release());
    if (!read) return std::unexpected(read.error().code().value());
    return *read;
}

std::int64_t world::try_send_file(send_file_operation& op) {
    while (op.file_size != 0) {
        const node* n = find(op.on->fd);
        if (n == nullptr || !n->connection) return -ENOTCONN;
        const std::size_t room = room_for(n->connection->at(other(n->which)).in);
        // Without room the only question is whether the connection stands: the read is for nothing.
        char piece[16 * 1024];
        const std::size_t wanted =
            std::min({room == 0 ? 1 : room, sizeof piece, static_cast<std::size_t>(op.file_size)});
        const auto read = read_file(op, {piece, wanted});
        if (!read) return -read.error();
        if (*read == 0) return -ENODATA;
        const std::int64_t sent = send_some(op.on->fd, {piece, *read});
        if (sent < 0) return sent;
        op.sent += sent;
        op.file_offset += sent;
        op.file_size -= sent;
    }
    return op.sent;
}

// ---- ends and resets ----------------------------------------------------------------------------

void world::shut_output(int fd) {
    const node* n = find(fd);
    if (n == nullptr || !n->connection) return;
    end& e = n->connection->at(n->which);
    pipe& out = n->connection->at(other(n->which)).in;
    if (!e.connected || e.broken || out.shut) return;
    out.shut = true;
    schedule(event_kind::finish, next_due(out), *n->connection, other(n->which));
}

bool world::hung_up(int fd, const hangup_watch& w) {
    const node* n = find(fd);
    if (n == nullptr || !n->connection) return false;
    const end& e = n->connection->at(n->which);
    return e.broken || (e.in.ended && !w.ignores_end);
}

bool world::has_input(int fd) {
    const node* n = find(fd);
    if (n == nullptr || !n->connection) return false;
    const end& e = n->connection->at(n->which);
    return e.in.ended || e.broken || !e.in.readable().empty();
}

/// Sends a reset. It arrives after the bytes under way, but overtakes those that its sender still
/// has to send: they are discarded.
void world::send_reset(link& l, side towards) {
    end& e = l.at(towards);
    if (std::exchange(e.doomed, true)) return;
    const bool overtakes = e.in.flying() && falters(4);
    schedule(event_kind::reset, overtakes ? now_ + latency() : next_due(e.in), l, towards);
}

void world::close_end(link& l, side which, bool reset) {
    end& e = l.at(which);
    end& peer = l.at(other(which));
    e.open = false;
    e.owner = {};
    // On a loopback what was sent has arrived.
    const bool unread = !e.in.readable().empty() || (e.in.flying() && falters(2));
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

void world::happen_to(link& l, const event& e) {
    if (e.kind == event_kind::bytes) {
        if (!l.silent) bytes_arrive(l, e.towards, e.amount);
        return;
    }
    note(e, l.id);
    if (l.silent && e.kind != event_kind::poke && e.kind != event_kind::refused) return;
    switch (e.kind) {
        case event_kind::finish: return finish_arrives(l, e.towards);
        case event_kind::reset: return reset_arrives(l, e.towards);
        case event_kind::call: return call_arrives(l);
        case event_kind::room: l.at(other(e.towards)).in.occupied -= e.amount; break;
        case event_kind::established: l.at(side::client).connected = true; break;
        case event_kind::refused: l.at(side::client).refused = static_cast<int>(e.amount); break;
        case event_kind::doom: return strike(l);
        default: break;
    }
    wake(l.at(e.towards).owner);
}

void world::bytes_arrive(link& l, side towards, std::size_t amount) {
    end& e = l.at(towards);
    note({now_, 0, &l, amount, event_kind::bytes, towards}, l.id,
         std::string_view(e.in.bytes).substr(e.in.arrived, amount));
    if (e.broken) return e.in.lose_arriving(amount);
    e.in.arrived += amount;
    if (!e.open) e.in.drop_arrived();
    if (!e.open) return send_reset(l, other(towards));
    wake(e.owner);
    if (l.doom_after == 0) return;
    if (l.doom_after > amount) {
        l.doom_after -= amount;
    } else {
        strike(l);
    }
}

void world::finish_arrives(link& l, side towards) {
    end& e = l.at(towards);
    if (e.broken || !e.open) return;
    e.in.ended = true;
    wake(e.owner);
}

void world::reset_arrives(link& l, side towards) {
    end& e = l.at(towards);
    e.broken = true;
    // Linux keeps the bytes that have arrived for the reader; others discard them (RFC 9293 section
    // 3.10.7.4), and the reader learns of the reset, though the end had come.
    if (falters(4) && !e.in.readable().empty()) {
        e.in.drop_arrived();
        e.in.ended = false;
    }
    wake(e.owner);
}

}  // namespace coracle::testing::detail
