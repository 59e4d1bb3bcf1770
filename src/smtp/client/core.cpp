#include "smtp/client/core.hpp"

#include "base/ascii.hpp"
#include "net/resolver/name.hpp"

#include <coracle/mime/address.hpp>
#include <coracle/smtp/client_settings.hpp>

#include <algorithm>
#include <utility>

namespace coracle::smtp::detail {
namespace {

/// Pools of one loop that are kept though no mail uses them.
constexpr std::size_t most_pools = 256;
/// Routes that are kept: each may hold connections, certificates and sessions.
constexpr std::size_t most_routes = 16;
/// Routes to MX hosts that are kept.
constexpr std::size_t most_mx_routes = 256;

// Returns the credentials of the options, or else those of the URL, as far as their mode uses them.
credentials login_of(credentials who, const server_address& to) {
    if (who.user.empty()) {
        who.user = to.user;
        if (who.password.empty()) who.password = to.password;
    }
    switch (who.mode) {
        case login_mode::any: break;
        case login_mode::none: return {};
        case login_mode::basic: who.token = {}; break;
        case login_mode::bearer:
            if (who.token.empty()) who.token = who.password;
            who.password = {};
            break;
    }
    who.mode = login_mode::any;
    return who;
}

}  // namespace

client_shard::client_shard(client_core& core, loop& owner)
    : resident(&core), core_(core.shared_from_this()), owner_(owner) {
    names_.emplace(owner, core.pool().resolver);
}

connection_pool& client_shard::pool_for(const std::shared_ptr<const route>& by) {
    const auto known =
        std::ranges::find(pools_, by, [](const auto& p) -> const auto& { return p->by(); });
    if (known != pools_.end()) {
        std::rotate(known, known + 1, pools_.end());
        return *pools_.back();
    }
    // Each MX host has a pool, and there may be any number of them.
    if (pools_.size() >= most_pools) {
        const auto unused =
            std::ranges::find(pools_, false, [](const auto& p) { return p->in_use(); });
        if (unused != pools_.end()) pools_.erase(unused);
    }
    pools_.push_back(std::make_unique<connection_pool>(owner_, by, core_->pool(), counters));
    return *pools_.back();
}

void client_shard::add_to(client_statistics& s) const noexcept {
    s.mails += counters.mails;
    s.failed += counters.failed;
    s.retries += counters.retries;
    s.opened += counters.opened;
    s.reused += counters.reused;
    s.connections += counters.open;
    s.idle += counters.idle;
    s.waiting += counters.waiting;
}

void client_shard::retire() noexcept {
    core_->forget(*this);
    disown();
    retired_ = true;
    for (const auto& p : pools_) p->retire();
    if (holders_ == 0) delete this;
}

void client_shard::loop_ended() noexcept {
    for (const auto& p : pools_) p->abandon();
    names_.reset();
    if (!retired_) core_->forget(*this);
    retired_ = true;
    if (holders_ == 0) delete this;
}

client_core::client_core(std::string_view server, client_options o, pool_options p,
                         background_options b)
    : pool_(std::move(p)), environment_(connect::proxy_environment::read()),
      server_(server_address::parse(server)), own_loop_(b, "smtp"),
      defaults_(std::make_shared<const client_options>(std::move(o))) {}

std::shared_ptr<const client_options> client_core::defaults() const {
    const std::lock_guard lock(guard_);
    return defaults_;
}

void client_core::set_defaults(client_options o) {
    auto made = std::make_shared<const client_options>(std::move(o));
    const std::lock_guard lock(guard_);
    defaults_ = std::move(made);
    default_route_.reset();
}

std::expected<void, error> client_core::change_defaults(std::string_view text) {
    const std::lock_guard lock(guard_);
    client_options changed = *defaults_;
    if (auto read = read_options(changed, text); !read) return read;
    defaults_ = std::make_shared<const client_options>(std::move(changed));
    default_route_.reset();
    return {};
}

std::expected<std::shared_ptr<const route>, error> client_core::route_for(const client_options& o) {
    if (!server_) return std::unexpected(server_.error());
    {
        const std::lock_guard lock(guard_);
        if (&o == defaults_.get() && default_route_ != nullptr) return default_route_;
    }
    client_options wanted = o;
    wanted.authentication = login_of(std::move(wanted.authentication), *server_);
    auto found = find_route(*server_, wanted, most_routes);
    if (!found) return found;
    const std::lock_guard lock(guard_);
    if (&o == defaults_.get()) default_route_ = *found;
    return found;
}

std::expected<std::shared_ptr<const route>, error> client_core::route_to(const std::string& host,
                                                                         client_options o) {
    // Hosts that a name server names are strangers.
    o.authentication = {};
    server_address to;
    to.host = host;
    to.port = server_->port;
    to.is_absolute = !net::detail::numeric_address(host);
    return find_route(to, o, most_mx_routes);
}

std::shared_ptr<const route> client_core::known_route(const server_address& to,
                                                      const client_options& o,
                                                      std::shared_ptr<const route>* sibling) {
    for (auto known = routes_.begin(); known != routes_.end(); ++known) {
        const route& r = **known;
        const bool here = r.to().host == to.host && r.to().port == to.port;
        if ((!here && *sibling != nullptr) || !route::same(r.options(), o)) continue;
        if (here) {
            std::rotate(known, known + 1, routes_.end());
            return routes_.back();
        }
        *sibling = *known;
    }
    return nullptr;
}

std::expected<std::shared_ptr<const route>, error> client_core::find_route(const server_address& to,
                                                                           const client_options& o,
                                                                           std::size_t most) {
    std::shared_ptr<const route> sibling;
    {
        const std::lock_guard lock(guard_);
        if (auto known = known_route(to, o, &sibling)) return known;
    }
    // It reads the files of certificates, which may take long.
    auto made = route::make(to, o, environment_, sibling.get());
    if (!made) return made;
    const std::lock_guard lock(guard_);
    // Another loop may have made it meanwhile.
    if (auto known = known_route(to, o, &sibling)) return known;
    if (routes_.size() == most) routes_.erase(routes_.begin());
    routes_.push_back(*made);
    return made;
}

void client_core::set_policy(std::string_view domain, std::optional<sts_policy> p) {
    // As the domain of a recipient is looked up: in A-labels.
    std::string_view whole = domain;
    if (whole.ends_with('.')) whole.remove_suffix(1);
    const std::string address = "x@" + std::string(whole);
    const std::string name =
        coracle::detail::lower(mime::ascii_domain(address).value_or(address).substr(2));
    const std::lock_guard lock(guard_);
    if (p) {
        policies_.insert_or_assign(name, *std::move(p));
    } else {
        policies_.erase(name);
    }
}

std::optional<sts_policy> client_core::policy_of(const std::string& domain,
                                                 std::int64_t unix_time) const {
    const std::lock_guard lock(guard_);
    const auto found = policies_.find(domain);
    if (found == policies_.end() || !found->second.holds(unix_time)) return {};
    return found->second;
}

client_statistics client_core::statistics() {
    client_statistics s;
    parts_.for_each([&s](const client_shard& part) { part.add_to(s); });
    own_loop_.add_to(s);
    return s;
}

}  // namespace coracle::smtp::detail
