#include "http/client/queued_call.hpp"

#include <algorithm>
#include <new>

namespace coracle::http::detail {

/// Until when it may wait; never: max.
time_point queued_call::waits_until(const client_options& o, time_point now) const noexcept {
    time_point due = time_point::max();
    const duration total =
        call_->total_timeout > duration::zero() ? call_->total_timeout : o.total_timeout;
    for (const duration limit : {total, o.retry.attempt_timeout}) {
        if (limit > duration::zero()) due = std::min(due, coracle::detail::later(now, limit));
    }
    return due;
}

/// What is wrong with a call it says itself, once it has begun.
bool queued_call::has_to_wait(client_shard& here, coracle::detail::admission& to) {
    call_state& c = *call_;
    const prepared_options& all = *here.options();
    const client_options* const own = c.own();
    if (c.problem() != nullptr || (own == nullptr && all.problem)) return false;
    // Interceptors may have an answer of their own; and a second copy waits for a turn of its own.
    if (c.core->chain() || hedge_delay(c, here) > duration::zero()) return false;
    auto way = own != nullptr ? c.core->way_for(*own) : all.way;
    auto where = address_of(c, here);
    if (!way || !where || (where->scheme() != "http" && where->scheme() != "https")) return false;
    connection_pool& pool = here.pool();
    if (pool.has_room(pool.look_up(*where, *way))) return false;
    auto at = pool.find(*where, *way);
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
