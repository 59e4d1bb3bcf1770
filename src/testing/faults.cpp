// The faults of a simulated world: which, when, and to which connection.

#include "testing/world.hpp"

#include <algorithm>
#include <cerrno>

namespace coracle::testing::detail {
namespace {

bool matches(const net::address& pattern, const net::address& a) {
    if (!has_port(pattern) || pattern.port() != 0) return pattern == a;
    return pattern.family() == a.family() && pattern.host() == a.host();
}

}  // namespace

void world::black_hole(const net::address& to, bool on) {
    std::erase(black_holes_, to);
    if (on) black_holes_.push_back(to);
}

void world::plan_faults(link& l) {
    const fault_options& f = options.faults;
    const auto covers = [to = net::address::from(l.remote)](const net::address& hole) {
        return matches(hole, to);
    };
    if (std::any_of(black_holes_.begin(), black_holes_.end(), covers) || mishap(f.black_holes)) {
        mark(l, fault::black_hole);
        l.silent = true;
        return schedule(event_kind::refused, now_ + f.call_timeout, l, side::client, ETIMEDOUT);
    }
    if (mishap(f.refusals)) {
        mark(l, fault::refusal);
        return schedule(event_kind::refused, now_ + latency(), l, side::client, ECONNREFUSED);
    }
    schedule(event_kind::call, now_ + latency(), l, side::server);

    if (mishap(f.stalls)) {
        l.stalls = 1 + static_cast<std::uint32_t>(mishaps_.up_to(std::max(f.stalls_each, 1u) - 1));
    }
    if (mishap(f.resets))
        l.doom = fault::reset;
    else if (mishap(f.half_closes))
        l.doom = fault::half_close;
    else if (mishap(f.silences))
        l.doom = fault::silence;
    else
        return;
    // Small numbers as often as large ones: the first bytes and the first moments are those in
    // which most is decided.
    if (mishaps_.one_in(2)) {
        l.doom_after = 1 + mishaps_.up_to(std::uint64_t{1} << mishaps_.up_to(16));
    } else {
        const auto in = 1000 + mishaps_.up_to(std::uint64_t{1} << (10 + mishaps_.up_to(22)));
        schedule(event_kind::doom, now_ + duration(static_cast<std::int64_t>(in)), l);
    }
}

void world::strike(link& l) {
    l.doom_after = 0;
    if (!l.at(side::client).connected || !l.at(side::server).connected || l.silent) return;
    // A connection that has ended cannot fail.
    if (!l.at(side::client).open && !l.at(side::server).open) return;
    mark(l, l.doom);
    switch (l.doom) {
        case fault::reset:
            send_reset(l, side::client);
            send_reset(l, side::server);
            return;
        case fault::half_close: {
            const side hears = mishaps_.one_in(2) ? side::client : side::server;
            pipe& in = l.at(hears).in;
            in.severed = true;
            if (!in.shut) schedule(event_kind::finish, next_due(in), l, hears);
            return;
        }
        default: l.silent = true; return;
    }
}

void world::stall(link& l, pipe& out) {
    if (!mishaps_.one_in(3)) return;
    --l.stalls;
    mark(l, fault::stall);
    const auto most = static_cast<std::uint64_t>(options.faults.stall_max.count());
    out.last_due =
        std::max(out.last_due, now_) + duration(static_cast<std::int64_t>(mishaps_.up_to(most)));
}

void world::mark(link& l, fault f) {
    faulty_[net::address::from(l.local).to_string()].insert(f);
    mix(static_cast<std::uint64_t>(f) << 32 ^ l.id);
    if (options.trace == nullptr) return;
    const char* what = "";
    switch (f) {
        case fault::reset: what = "is reset"; break;
        case fault::half_close: what = "half closes"; break;
        case fault::silence: what = "falls silent"; break;
        case fault::stall: what = "stalls"; break;
        case fault::refusal: what = "is refused"; break;
        case fault::black_hole: what = "never gets a response"; break;
        case fault::no_descriptors: what = "finds no descriptor"; break;
        case fault::no_memory: what = "finds no memory"; break;
    }
    tell("fault: connection " + std::to_string(l.id) + ' ' + what);
}

int world::fault_of(const io_operation& op) {
    const fault_options& f = options.faults;
    const std::uint64_t nth = ++submitted_[static_cast<unsigned>(op.code)];
    const bool chosen = nth == f.fails_at && op.code == f.fails;
    if (!chosen && !mishap(f.no_memory)) return 0;
    if (op.on != nullptr) {
        node* n = find(op.on->fd);
        if (n != nullptr && n->connection) mark(*n->connection, fault::no_memory);
        if (n != nullptr && n->listener) {
            n->listener->refused_one = true;
            if (!n->listener->queue.empty()) mark(*n->listener->queue.front(), fault::no_memory);
        }
    }
    return chosen ? f.fails_with : ENOMEM;
}

bool world::out_of_memory(int fd) {
    if (!mishap(options.faults.no_memory)) return false;
    const node* n = find(fd);
    if (n != nullptr && n->connection) mark(*n->connection, fault::no_memory);
    return true;
}

fault_set world::faults_on(const net::address& client) const {
    const auto found = faulty_.find(client.to_string());
    return found == faulty_.end() ? fault_set() : found->second;
}

}  // namespace coracle::testing::detail
