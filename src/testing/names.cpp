#include "base/ascii.hpp"

// The names of a simulated world.

#include "testing/world.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace coracle::testing::detail {
namespace {

/// Returns the family, with which a `sockaddr` begins.
int family_of(const endpoint& e) noexcept {
    std::uint16_t number = 0;
    std::memcpy(&number, e.bytes, sizeof number);
    return number;
}

}  // namespace

void world::add_name(std::string_view host, std::vector<net::address> addresses, duration ttl) {
    name& n = names_[coracle::detail::lower(host)];
    n = name();
    n.addresses = std::move(addresses);
    n.ttl = ttl;
}

void world::add_mail_hosts(std::string_view domain, const std::vector<net::mail_host>& hosts) {
    name& n = names_[coracle::detail::lower(domain)];
    n.exchanges.clear();
    for (const net::mail_host& h : hosts) n.exchanges.push_back({h.preference, h.name});
}

void world::fail_name(std::string_view host, int number, duration after) {
    name& n = names_[coracle::detail::lower(host)];
    n.failure = number;
    n.after = bounded(after);
}

void world::delay_names(duration least, duration most) noexcept {
    name_delay_min_ = bounded(least);
    name_delay_max_ = std::max(bounded(most), name_delay_min_);
}

ref<pending> world::ask(resolve_operation& op, loop_view& home) {
    ref<resolution> r(new resolution);
    r->op = &op;
    r->home = &home;
    const auto spread = static_cast<std::uint64_t>((name_delay_max_ - name_delay_min_).count());
    duration delay = name_delay_min_ + duration(static_cast<std::int64_t>(chance_.up_to(spread)));
    const auto found = names_.find(coracle::detail::lower(op.host));
    if (found != names_.end()) delay += found->second.after;
    schedule(event_kind::resolved, now_ + delay, *r);
    return r.get();
}

std::int64_t world::response_to(resolve_operation& op) {
    if (mishap(options.faults.name_failures)) {
        tell("fault: a name has no response");
        return -EAGAIN;
    }
    const auto found = names_.find(coracle::detail::lower(op.host));
    if (found == names_.end()) return -ENOENT;
    const name& n = found->second;
    if (n.failure != 0) return -n.failure;
    op.ttl = n.ttl;
    if (op.family == mail_resolve_operation::mail) {
        auto& exchanges = static_cast<mail_resolve_operation&>(op).exchanges;
        exchanges = n.exchanges;
        return static_cast<std::int64_t>(exchanges.size());
    }
    op.found.clear();
    for (const net::address& a : n.addresses) {
        endpoint e = (has_port(a) ? with_port(a, 0) : a).to_endpoint();
        if (op.family == 0 || family_of(e) == op.family) op.found.push_back(e);
    }
    return static_cast<std::int64_t>(op.found.size());
}

}  // namespace coracle::testing::detail
