// Coalescing: requests to one origin on an HTTP/2 connection to another (RFC 9113 section 9.1.1).

#include "http/client/running_call.hpp"

#include <algorithm>

namespace coracle::http::detail {

/// Returns a connection with a free place whose certificate also covers `o` and for which
/// `leads_there` returns true.
template <class F>
client_h2_connection* connection_pool::find_coalescible(origin& o, F leads_there) {
    for (const auto& [name, other] : origins_) {
        if (other.get() == &o || other->transport_ != o.transport_ || !other->secure_ ||
            other->port_ != o.port_ || other->proxy_ != nullptr) {
            continue;
        }
        for (h2_place_link* at = other->shared_.front(); at != nullptr;
             at = other->shared_.next(*at)) {
            auto* const c = static_cast<client_h2_connection*>(at);
            if (c->has_place(options_.streams) && !is_too_old(*c) && c->secured()->verified() &&
                leads_there(*c) && c->certificate().covers(o.host_)) {
                return c;
            }
        }
    }
    return nullptr;
}

net::family connection_pool::family_to_coalesce(origin& o) {
    if (!options_.h2.coalesce || !o.secure_ || o.facts_.keeps_apart || o.facts_.wants_http_1 ||
        o.proxy_ != nullptr || !o.transport_->may_coalesce()) {
        return net::family::none;
    }
    auto* const c = find_coalescible(o, [](client_h2_connection&) { return true; });
    return c != nullptr ? c->stream().peer().family() : net::family::none;
}

lease connection_pool::coalesce(origin& o, std::span<const net::address> addresses) {
    const auto leads_there = [&](client_h2_connection& c) {
        return std::ranges::find(addresses, c.stream().peer()) != addresses.end();
    };
    client_h2_connection* const c = find_coalescible(o, leads_there);
    if (c == nullptr) return {};
    lease place;
    if (c->exchanges() != 0) {
        place = lease(c->begin_exchange());
        ++counters_.reused;
    } else {
        stop_waiting(*c);
        place = use_idle(*c);
    }
    ++counters_.coalesced;
    return place;
}

/// Returns a place on a connection to another origin that also serves this one, or none. If the
/// lookup fails the call opens a connection, which then reports the error. Only addresses of the
/// family of that connection are looked up: those of the other may take long.
task<std::expected<lease, error>> running_call::coalesce() {
    if (needs_new_connection_) co_return lease();
    const net::family only = shard_->pool().family_to_coalesce(*origin_);
    if (only != net::family::v4 && only != net::family::v6) co_return lease();
    time_point latest = attempt_deadline_;
    if (options_->resolve_timeout > duration::zero()) {
        latest = std::min(latest, coracle::detail::later(now(), options_->resolve_timeout));
    }
    limit_.begin(*context_, options_->connect_timeout, latest);
    auto resolving = shard_->names().resolve(origin_->host(), origin_->port(), only);
    auto found = co_await as_result(resolving);
    limit_.end();
    if (!found && coracle::detail::is_cancellation(found.error()) && !limit_.passed()) {
        co_return std::unexpected(std::move(found).error());
    }
    if (!found) co_return lease();
    co_return shard_->pool().coalesce(*origin_, *found);
}

}  // namespace coracle::http::detail
