#include "http/client/queued_call.hpp"

#include <algorithm>
#include <new>

namespace coracle::http::detail {

/// Returns the time until which the call may wait; max: no limit.
time_point queued_call::waits_until(const client_options& o, time_point now) const noexcept {
    time_point due = time_point::max();
    const duration total =
        call_->total_timeout > duration::zero() ? call_->total_timeout : o.total_timeout;
    for (const duration limit : {total, o.retry.attempt_timeout}) {
        if (limit > duration::zero()) due = std::min(due, coracle::detail::later(now, limit));
    }
    return due;
}

/// A faulty call does not wait: it fails once it has begun.
bool queued_call::has_to_wait(client_shard& here, coracle::detail::admission& to) {
    call_state& c = *call_;
    const prepared_options& all = *here.options();
    const client_options* const own = c.own();
    if (c.problem() != nullptr || (own == nullptr && all.problem)) return false;
    // Interceptors may return a response of their own, and a second copy waits for a connection of
    // its own.
    if (c.core->chain() || hedge_delay(c, here) > duration::zero()) return false;
    auto t = own != nullptr ? c.core->transport_for(*own) : all.made;
    auto where = target_url(c, here);
    if (!t || !where || (where->scheme() != "http" && where->scheme() != "https")) return false;
    connection_pool& pool = here.pool();
    const bool upgrades = c.more().may_be_tunnel;
    if (pool.has_room(pool.look_up(*where, *t, upgrades))) return false;
    auto at = pool.find(*where, *t, upgrades);
    if (!at) return false;
    shard_.emplace(here);
    place_.emplace(**at, to);
    place_->end_at(waits_until(own != nullptr ? *own : all.values, here.owner().now()));
    if (!pool.wait(*place_)) {
        place_.reset();
        return false;
    }
    c.turn = &*place_;
    return true;
}

bool queued_call::admit(coracle::detail::admission& to) noexcept {
    try {
        client_shard* const here = call_->core->here();
        return here == nullptr || !has_to_wait(*here, to);
    } catch (const std::bad_alloc&) {
        place_.reset();
        return true;
    }
}

}  // namespace coracle::http::detail
