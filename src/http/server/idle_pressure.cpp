// Idle connections of a loop that runs short of connections or memory: they are closed earlier.

#include "http/server/shard.hpp"

#include <coracle/runtime/sleep.hpp>

#include <algorithm>
#include <new>
#include <vector>

namespace coracle::http::detail {

/// Returns how little is left for so many connections: from 0, where none needs to go, to 1.
double shard::pressure(std::size_t connections) noexcept {
    constexpr double calm = 0.75;
    const time_point now = owner().now();
    if (memory().needs_a_look(now)) memory().is_short(now);
    const double used = static_cast<double>(connections) / static_cast<double>(most_connections_);
    return std::clamp((std::max(used, memory().share()) - calm) / (1 - calm), 0.0, 1.0);
}

duration shard::idle_limit(std::size_t connections) noexcept {
    const server_timeouts& t = options().timeouts;
    if (t.idle_at_limit >= t.idle) return t.idle;
    const auto less = static_cast<double>((t.idle - t.idle_at_limit).count());
    return t.idle - duration(static_cast<duration::rep>(less * pressure(connections)));
}

/// Closes connections that have been idle for longer than is allowed now, the longest idle first:
/// each leaves the others more time.
void shard::close_long_idle() {
    struct candidate {
        time_point since;
        server_connection* who;
    };
    const time_point now = owner().now();
    std::vector<candidate> idle;
    for (server_connection* c = connections_.front(); c != nullptr; c = connections_.next(*c)) {
        const auto since = c->idle_since();
        if (since && now - *since > options().timeouts.idle_at_limit) idle.push_back({*since, c});
    }
    std::ranges::sort(idle, {}, &candidate::since);
    std::size_t left = open_ + handshaking_;
    for (const candidate& c : idle) {
        if (now - c.since <= idle_limit(left)) break;
        c.who->make_room();
        count(&server_counters::idle_shortened);
        --left;
    }
}

/// Without memory it tries again: that is what it is for.
task<> shard::shorten_idle() {
    for (;;) {
        if (pressure(open_ + handshaking_) == 0) {
            pressed_.reset();
            co_await pressed_.wait();
        }
        try {
            close_long_idle();
        } catch (const std::bad_alloc&) {
            count(&server_counters::out_of_memory);
        }
        co_await sleep_for(std::chrono::seconds(1));
    }
}

}  // namespace coracle::http::detail
