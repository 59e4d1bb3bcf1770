#include "testing/world.hpp"

#include "runtime/century.hpp"
#include "testing/loop_view.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace coracle::testing::detail {
namespace {

error failure(int number, const char* operation) noexcept {
    return {std::error_code(number, std::generic_category()), operation};
}

constexpr std::uint64_t salt_of_mishaps = 0x6d69736861707300;

/// A minimum that was raised alone moves the maximum.
simulation_options in_order(simulation_options o) {
    for (duration* const d : {&o.latency_min, &o.latency_max, &o.file_delay_min, &o.file_delay_max,
                              &o.faults.stall_max, &o.faults.late_max, &o.faults.call_timeout}) {
        *d = bounded(*d);
    }
    o.latency_max = std::max(o.latency_max, o.latency_min);
    o.file_delay_max = std::max(o.file_delay_max, o.file_delay_min);
    return o;
}

simulation_options checked(simulation_options o) {
    // In nanoseconds the clock holds 292 years before and behind 1970.
    constexpr std::int64_t most = 9'000'000'000;
    if (o.unix_time >= -most && o.unix_time <= most) return in_order(o);
    throw_exception(error(std::errc::invalid_argument, "simulation_options").on("unix_time"));
}

}  // namespace

duration bounded(duration d) noexcept {
    return std::clamp(d, duration::zero(), coracle::detail::century);
}

net::address with_port(const net::address& a, unsigned port) {
    std::string text = a.to_string();
    text.resize(text.rfind(':') + 1);
    return *net::address::parse(text + std::to_string(port));
}

bool has_port(const net::address& a) noexcept {
    return a.family() == net::family::v4 || a.family() == net::family::v6;
}

bool is_wildcard(const net::address& a) noexcept {
    return has_port(a) && std::ranges::all_of(a.bytes(), [](std::uint8_t b) { return b == 0; });
}

endpoint destination(const endpoint& at) {
    const net::address a = net::address::from(at);
    if (!is_wildcard(a)) return at;
    const bool is_v4 = a.family() == net::family::v4;
    return with_port(*net::address::parse(is_v4 ? "127.0.0.1:0" : "[::1]:0"), a.port())
        .to_endpoint();
}

bool overlap(const binding& a, const binding& b) {
    const auto covers = [](const binding& all, const net::address& one) {
        if (!is_wildcard(all.at) || !has_port(one)) return all.at == one;
        const bool hears_family =
            all.at.family() == one.family() || (all.at.family() == net::family::v6 && !all.v6_only);
        return hears_family && all.at.port() == one.port();
    };
    return covers(a, b.at) || covers(b, a.at);
}

world::world(const simulation_options& o)
    : options(checked(o)), now_(std::chrono::hours(1)), start_(now_),
      ends_(coracle::detail::later(now_, o.max_time)), turns_left_(o.max_turns), chance_(o.seed),
      for_programs_(~o.seed), mishaps_(o.seed ^ salt_of_mishaps),
      name_delay_min_(options.latency_min), name_delay_max_(options.latency_max) {
    if (options.disk != nullptr) options.disk->tree().begin_run(options.seed);
}

// ---- the clock ----------------------------------------------------------------------------------

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

bool world::pass(time_point until) {
    if (until <= now_) {
        now_ += options.turn;
    } else {
        time_point next = until;
        if (!events_.empty()) next = std::min(until, events_.next().at);
        if (next == time_point::max()) return false;
        now_ = std::max(now_, next);
    }
    happen_until_now();
    return true;
}

void world::happen_until_now() {
    // Events that these cause at once belong to the next turn.
    const std::uint64_t made_before = events_.made();
    while (!events_.empty() && events_.next().at <= now_ && events_.next().sequence < made_before) {
        const event e = events_.pop();
        happen(e);
        e.on->drop();
    }
}

void world::count_turn() {
    if (turns_left_ == 0) return stuck("the run does not end within the bound on turns");
    --turns_left_;
}

void world::check_time() {
    if (now_ > ends_) stuck("the run does not end within the bound on virtual time");
}

void world::fail(const std::string& why) {
    if (std::exchange(has_failed_, true)) return;
    tell("failure: " + why);
    // Tasks that are cancelled now may need a while to unwind.
    turns_left_ = options.max_turns;
    ends_ = coracle::detail::later(now_, options.max_time);
    if (failed != nullptr) failed(failed_user, why);
}

void world::stuck(const std::string& why) {
    if (!has_failed_ && failed != nullptr) return fail(why);
    std::fprintf(stderr, "seed %llu: %s, although everything was cancelled\n",
                 static_cast<unsigned long long>(options.seed), why.c_str());
    std::abort();
}

// ---- what happens -------------------------------------------------------------------------------

void world::happen(const event& e) {
    switch (e.kind) {
        case event_kind::poke_listener: {
            auto& l = static_cast<listening&>(*e.on);
            note(e, 0);
            for (const holder& h : l.owners) wake(h);
            return;
        }
        case event_kind::poke_socket:
            note(e, 0);
            return wake(static_cast<datagram_socket&>(*e.on).owner);
        case event_kind::datagram: {
            auto& to = static_cast<datagram_socket&>(*e.on);
            datagram what = std::move(to.flying.front());
            to.flying.pop_front();
            note(e, 0, what.bytes);
            return datagram_arrives(to, std::move(what));
        }
        case event_kind::late_datagram: {
            auto& s = static_cast<late_datagram&>(*e.on);
            note(e, 0, s.what.bytes);
            return datagram_arrives(*s.to, std::move(s.what));
        }
        case event_kind::resolved: {
            auto& r = static_cast<resolution&>(*e.on);
            note(e, 0);
            return report(r);
        }
        case event_kind::file_happens: return happens(static_cast<file_task&>(*e.on));
        case event_kind::file_reported: return report(static_cast<file_task&>(*e.on));
        default: return happen_to(static_cast<link&>(*e.on), e);
    }
}

void world::report(pending& p) {
    if (p.op != nullptr) p.home->ready(ref<pending>(&p));
}

void world::wake(const holder& h) {
    if (h.d != nullptr) h.home->ready(*h.d);
}

// ---- descriptors --------------------------------------------------------------------------------

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

std::uint16_t world::next_port() noexcept {
    last_port_ = last_port_ == 65535 ? 49152 : static_cast<std::uint16_t>(last_port_ + 1);
    return last_port_;
}

bool world::is_taken(const net::address& a, const socket_options& o) const {
    return std::ranges::any_of(listeners_, [&](const auto& of_key) {
        const listening& there = *of_key.second.front();
        const bool both_hear =
            overlap({a, o.v6_only}, {net::address::from(there.at), there.v6_only});
        return both_hear && !(o.reuse_port && !o.claims_port && there.shared);
    });
}

std::expected<int, error> world::listen(endpoint& at, const socket_options& o) {
    net::address a = net::address::from(at);
    if (a.family() == net::family::none) return std::unexpected(failure(EAFNOSUPPORT, "socket"));
    while (has_port(a) && a.port() == 0) {
        const net::address candidate = with_port(a, next_port());
        if (!is_taken(candidate, socket_options())) a = candidate;
    }
    ref<listening> l(new listening);
    l->at = a.to_endpoint();
    l->key = a.to_string();
    l->backlog = o.backlog < 1 ? 1 : static_cast<std::size_t>(o.backlog);
    l->shared = o.reuse_port;
    l->v6_only = o.v6_only;
    l->numbers = 1;
    if (is_taken(a, o)) return std::unexpected(failure(EADDRINUSE, "bind"));
    node n;
    n.listener = l;
    auto fd = new_node(std::move(n));
    if (!fd) return fd;
    at = l->at;
    if (!has_port(a)) bound_paths_.insert(l->key);
    listeners_[l->key].push_back(std::move(l));
    return fd;
}

listening* world::who_listens(const endpoint& at) {
    const net::address a = net::address::from(at);
    const auto listener_at = [this](const std::string& key) -> listening* {
        const auto found = listeners_.find(key);
        if (found == listeners_.end()) return nullptr;
        const auto& all = found->second;
        return all[all.size() == 1 ? 0 : chance_.up_to(all.size() - 1)].get();
    };
    if (listening* l = listener_at(a.to_string())) return l;
    if (!has_port(a)) return nullptr;
    const std::string port = std::to_string(a.port());
    if (a.family() == net::family::v4) {
        if (listening* l = listener_at("0.0.0.0:" + port)) return l;
    }
    listening* const l = listener_at("[::]:" + port);
    const bool is_deaf = l != nullptr && l->v6_only && a.family() == net::family::v4;
    return is_deaf ? nullptr : l;
}

void world::close_listener(listening& l, descriptor* d) {
    std::erase_if(l.owners, [d](const holder& h) { return h.d == d; });
    if (--l.numbers != 0) return;
    const auto all = listeners_.find(l.key);
    std::erase_if(all->second, [&l](const auto& other_one) { return other_one.get() == &l; });
    if (all->second.empty()) listeners_.erase(all);
    for (const ref<link>& waiting : std::exchange(l.queue, {})) {
        close_end(*waiting, side::server, true);
    }
}

std::expected<int, error> world::open_stream(const endpoint& local) {
    if (mishap(options.faults.no_descriptors)) return std::unexpected(failure(EMFILE, "socket"));
    node unconnected;
    unconnected.local = local;
    return new_node(std::move(unconnected));
}

std::expected<int, error> world::duplicate(int fd) {
    const node* n = find(fd);
    if (n == nullptr || !n->listener) return std::unexpected(failure(EBADF, "duplicate"));
    node twin;
    twin.listener = n->listener;
    auto number = new_node(std::move(twin));
    if (number) ++find(*number)->listener->numbers;
    return number;
}

std::expected<endpoint, error> world::local_endpoint(int fd) {
    const node* n = find(fd);
    if (n == nullptr) return std::unexpected(failure(EBADF, "getsockname"));
    if (n->listener) return n->listener->at;
    if (n->socket) return n->socket->at;
    if (!n->connection) return endpoint{};
    return n->which == side::client ? n->connection->local : n->connection->remote;
}

std::expected<void, error> world::attach(descriptor& d, int fd, loop_view& home) {
    node* n = find(fd);
    if (n == nullptr) return std::unexpected(failure(EBADF, "attach"));
    if (n->connection && out_of_memory(fd)) {
        // A listener that could not take this connection may refuse the next.
        if (listening* l = who_listens(n->connection->remote)) l->refused_one = true;
        return std::unexpected(failure(ENOMEM, "attach"));
    }
    n->owner = {&d, &home};
    if (n->listener)
        n->listener->owners.push_back(n->owner);
    else if (n->socket)
        n->socket->owner = n->owner;
    else if (n->connection)
        n->connection->at(n->which).owner = n->owner;
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
    if (closed.listener) {
        close_listener(*closed.listener, closed.owner.d);
    } else if (closed.socket) {
        closed.socket->open = false;
        closed.socket->owner = {};
        sockets_.erase(closed.socket->key);
    } else if (closed.connection) {
        close_end(*closed.connection, closed.which, reset);
    }
}

bool world::holds_back(int fd) {
    if (!falters(4) && !interrupted()) return false;
    poke(fd);
    return true;
}

void world::poke(int fd) {
    node* n = find(fd);
    if (n == nullptr) return;
    if (n->listener)
        schedule(event_kind::poke_listener, now_, *n->listener);
    else if (n->socket)
        schedule(event_kind::poke_socket, now_, *n->socket);
    else if (n->connection)
        schedule(event_kind::poke, now_, *n->connection, n->which);
}

}  // namespace coracle::testing::detail
