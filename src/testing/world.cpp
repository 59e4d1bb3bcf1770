#include "testing/world.hpp"

#include <coracle/net/address.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

error failure(int number, const char* operation) noexcept {
    return {std::error_code(number, std::generic_category()), operation};
}

bool later(const event& a, const event& b) noexcept {
    return a.after(b);
}

net::address with_port(const net::address& a, unsigned port) {
    std::string text = a.to_string();
    text.resize(text.rfind(':') + 1);
    return *net::address::parse(text + std::to_string(port));
}

bool has_port(const net::address& a) noexcept {
    return a.family() == net::family::v4 || a.family() == net::family::v6;
}

}  // namespace

world::world(const simulation_options& o)
    : options(o), now_(std::chrono::hours(1)), start_(now_), chance_(o.seed),
      for_programs_(~o.seed) {}

std::int64_t world::wall_clock() const noexcept {
    return options.unix_time * 1'000'000'000 + (now_ - start_).count();
}

duration world::latency() {
    const auto spread =
        static_cast<std::uint64_t>((options.latency_max - options.latency_min).count());
    return options.latency_min + duration(static_cast<std::int64_t>(chance_.up_to(spread)));
}

time_point world::next_due(pipe& p) {
    p.last_due = std::max(p.last_due, now_ + latency());
    return p.last_due;
}

void world::schedule(event_kind kind, time_point at, const std::shared_ptr<link>& on, side towards,
                     std::size_t amount, std::shared_ptr<listening> listener) {
    events_.push_back({at, sequence_++, kind, towards, amount, on, std::move(listener)});
    std::push_heap(events_.begin(), events_.end(), later);
}

bool world::pass(time_point until) {
    if (until <= now_) {
        now_ += options.turn;
    } else {
        time_point next = until;
        if (!events_.empty()) next = std::min(until, events_.front().at);
        if (next == time_point::max()) return false;
        now_ = std::max(now_, next);
    }
    // What these cause at once belongs to the next turn.
    const std::uint64_t made_before = sequence_;
    while (!events_.empty() && events_.front().at <= now_ &&
           events_.front().sequence < made_before) {
        std::pop_heap(events_.begin(), events_.end(), later);
        event e = std::move(events_.back());
        events_.pop_back();
        happen(e);
    }
    return true;
}

void world::note(event_kind kind, const link* l, std::uint64_t amount, std::string_view bytes) {
    const auto mix = [this](std::uint64_t word) {
        for (unsigned i = 0; i != 8; ++i) {
            trace_ = (trace_ ^ (word >> (8 * i) & 0xff)) * 0x100000001b3;
        }
    };
    mix(static_cast<std::uint64_t>(now_.time_since_epoch().count()));
    mix(static_cast<std::uint64_t>(kind) << 56 ^ (l == nullptr ? 0 : l->id));
    mix(amount);
    for (const char c : bytes) {
        trace_ = (trace_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    }
}

void world::happen(event& e) {
    note(e.kind, e.on.get(), e.amount << 1 | static_cast<unsigned>(e.towards));
    switch (e.kind) {
        case event_kind::bytes: return bytes_arrive(e.on, e.towards);
        case event_kind::finish: return finish_arrives(*e.on, e.towards);
        case event_kind::reset: return reset_arrives(*e.on, e.towards);
        case event_kind::call: return call_arrives(e.on);
        case event_kind::room: e.on->at(other(e.towards)).in.occupied -= e.amount; break;
        case event_kind::established: {
            end& client = e.on->at(side::client);
            client.connected = true;
            if (client.owner != nullptr) completes->connected(*client.owner, 0);
            return;
        }
        case event_kind::refused: {
            end& client = e.on->at(side::client);
            if (client.owner != nullptr) {
                completes->connected(*client.owner, -static_cast<std::int64_t>(e.amount));
            }
            return;
        }
        case event_kind::poke_listener:
            if (e.listener->owner != nullptr) completes->input_ready(*e.listener->owner);
            return;
        case event_kind::poke: break;
    }
    wake_end(e.on->at(e.towards));
}

node* world::find(int fd) noexcept {
    const auto index = static_cast<std::size_t>(fd - first_number);
    return fd >= first_number && index < nodes_.size() && nodes_[index].used ? &nodes_[index]
                                                                             : nullptr;
}

std::expected<int, error> world::new_node(node n) {
    if (open_ >= options.descriptors) return std::unexpected(failure(EMFILE, "socket"));
    ++open_;
    n.used = true;
    if (free_.empty()) {
        nodes_.push_back(std::move(n));
        return first_number + static_cast<int>(nodes_.size()) - 1;
    }
    const int fd = free_.back();
    free_.pop_back();
    nodes_[static_cast<std::size_t>(fd - first_number)] = std::move(n);
    return fd;
}

std::expected<int, error> world::listen(endpoint& at, const socket_options& o) {
    net::address a = net::address::from(at);
    if (a.family() == net::family::none) return std::unexpected(failure(EAFNOSUPPORT, "socket"));
    while (has_port(a) && a.port() == 0) {
        last_port_ = last_port_ == 65535 ? 49152 : static_cast<std::uint16_t>(last_port_ + 1);
        const net::address candidate = with_port(a, last_port_);
        if (!listeners_.contains(candidate.to_string())) a = candidate;
    }
    auto l = std::make_shared<listening>();
    l->at = a.to_endpoint();
    l->key = a.to_string();
    l->backlog = o.backlog < 1 ? 1 : static_cast<std::size_t>(o.backlog);
    l->shared = o.reuse_port;
    if (auto there = listeners_.find(l->key); there != listeners_.end()) {
        if (!l->shared || !there->second.front()->shared) {
            return std::unexpected(failure(EADDRINUSE, "bind"));
        }
    }
    node n;
    n.listener = l;
    auto fd = new_node(std::move(n));
    if (!fd) return fd;
    at = l->at;
    listeners_[l->key].push_back(std::move(l));
    return fd;
}

std::shared_ptr<listening> world::who_listens(const endpoint& at) {
    const net::address a = net::address::from(at);
    const std::string port = std::to_string(a.port());
    const std::string keys[] = {a.to_string(), "0.0.0.0:" + port, "[::]:" + port};
    const bool any_v4 = a.family() == net::family::v4;
    for (const std::string& key : keys) {
        if (&key == &keys[1] && !any_v4) continue;
        if (&key != &keys[0] && !has_port(a)) break;
        const auto found = listeners_.find(key);
        if (found == listeners_.end()) continue;
        return found->second[chance_.up_to(found->second.size() - 1)];
    }
    return nullptr;
}

void world::close_listener(listening& l) {
    l.open = false;
    l.owner = nullptr;
    auto& all = listeners_[l.key];
    std::erase_if(all, [&l](const auto& other_one) { return other_one.get() == &l; });
    if (all.empty()) listeners_.erase(l.key);
    for (const auto& waiting : std::exchange(l.queue, {})) {
        close_end(waiting, side::server, true);
    }
}

std::expected<int, error> world::open_stream(const endpoint&) {
    return new_node({});
}

std::expected<endpoint, error> world::local_endpoint(int fd) {
    const node* n = find(fd);
    if (n == nullptr) return std::unexpected(failure(EBADF, "getsockname"));
    if (n->listener != nullptr) return n->listener->at;
    if (n->connection == nullptr) return endpoint{};
    return n->which == side::client ? n->connection->local : n->connection->remote;
}

std::expected<void, error> world::attach(descriptor& d, int fd) {
    node* n = find(fd);
    if (n == nullptr) return std::unexpected(failure(EBADF, "attach"));
    if (n->listener != nullptr)
        n->listener->owner = &d;
    else if (n->connection != nullptr)
        n->connection->at(n->which).owner = &d;
    n->owner = &d;
    d.fd = fd;
    d.flags = 0;
    return {};
}

void world::close(int fd, bool reset) {
    node* n = find(fd);
    if (n == nullptr) return;
    const node closed = std::exchange(*n, {});
    free_.push_back(fd);
    --open_;
    if (closed.listener != nullptr)
        close_listener(*closed.listener);
    else if (closed.connection != nullptr)
        close_end(closed.connection, closed.which, reset);
}

bool world::holds_back(int fd) {
    if (!falters(4)) return false;
    node* n = find(fd);
    if (n == nullptr) return false;
    if (n->listener == nullptr && n->connection == nullptr) return false;
    schedule(n->listener != nullptr ? event_kind::poke_listener : event_kind::poke, now_,
             n->connection, n->which, 0, n->listener);
    return true;
}

}  // namespace coracle::testing::detail
