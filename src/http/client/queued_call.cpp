#include "http/client/queued_call.hpp"

namespace coracle::http::detail {

/// What is wrong with a call it says itself, once it has begun.
bool queued_call::has_to_wait(client_shard& here, coracle::detail::admission& to) {
    call_state& c = *call_;
    // Interceptors may have an answer of their own; and a second copy waits for a turn of its own.
    if (c.problem() != nullptr || c.core->chain() || hedge_delay(c, here) > duration::zero()) {
        return false;
    }
    const prepared_options& all = *here.options();
    auto way = c.own() != nullptr ? c.core->way_for(*c.own()) : all.way;
    auto where = address_of(c, here);
    if (!way || *way == nullptr || !where) return false;
    if (where->scheme() != "http" && where->scheme() != "https") return false;
    auto at = here.pool().find(*where, *way);
    if (!at || here.pool().has_room(**at)) return false;
    shard_.emplace(here);
    place_.emplace(**at, to);
    if (!here.pool().wait(*place_)) {
        place_.reset();
        return false;
    }
    const client_options& o = c.own() != nullptr ? *c.own() : all.values;
    const duration total = c.total_timeout > duration::zero() ? c.total_timeout : o.total_timeout;
    if (total > duration::zero()) place_->end_at(coracle::detail::later(place_->since(), total));
    c.turn = &*place_;
    return true;
}

bool queued_call::admit(coracle::detail::admission& to) noexcept {
    try {
        client_shard* const here = call_->core->here();
        return here == nullptr || !has_to_wait(*here, to);
    } catch (const std::bad_alloc&) {
        return true;
    }
}

}  // namespace coracle::http::detail
