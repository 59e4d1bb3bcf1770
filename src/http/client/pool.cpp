#include "http/client/pool.hpp"

#include "http/client/h1/h1_connection.hpp"

#include <algorithm>
#include <new>

namespace coracle::http::detail {

void connection_request::leave() noexcept {
    withdraw();
    if (!is_served()) return;
    taken_ = true;
    if (granted_) {
        granted_.end(fate::unused);
    } else {
        at_->pool().not_opened(*at_);
    }
}

void connection_request::release_origin() noexcept {
    at_->pool().drop(*at_);
}

origin::origin(connection_pool& pool, std::string name, const url& u,
               std::shared_ptr<const transport> t, std::shared_ptr<const connect::proxy> p,
               bool tunnels, std::size_t handshakes)
    : deadline(pool.owner()), pool_(&pool), name_(std::move(name)), host_(u.host()),
      port_(u.port()), secure_(u.scheme() == "https"), tunnels_(tunnels), transport_(std::move(t)),
      proxy_(std::move(p)), handshakes_(handshakes) {}

void origin::expired() noexcept {
    pool_->patience_over(*this);
}

std::shared_ptr<authenticator> origin::authentication(std::string_view authority,
                                                      const credentials& used) {
    constexpr std::size_t most = 8;
    for (const login& l : logins_) {
        const credentials& c = l.auth->used();
        if (l.authority == authority && c.scheme == used.scheme && c.user == used.user &&
            c.password == used.password) {
            return l.auth;
        }
    }
    if (logins_.size() == most) logins_.erase(logins_.begin());
    logins_.push_back({std::string(authority), std::make_shared<authenticator>(used)});
    return logins_.back().auth;
}

namespace {

/// The longest wait of other calls for the first connection to an origin, which shows the version
/// of HTTP.
constexpr duration alpn_patience = std::chrono::milliseconds(300);
/// The longest such wait if the origin is known to use HTTP/2. Without a limit, calls to a silent
/// host would wait for one connect timeout after the other.
constexpr duration opening_patience = std::chrono::seconds(3);
/// The time for which calls give way to one to another origin that has waited longer for a
/// connection, and then do not: their own may stay in use, so that giving way is of no use to it.
constexpr duration giving_way = std::chrono::seconds(3);
/// The most origins whose version is remembered.
constexpr std::size_t most_known = 1000;

/// Returns scheme://host[:port].
std::string_view name_of(const url& u, std::string& composed) {
    if (!u.has_user()) {
        const auto size = static_cast<std::size_t>(u.path().data() - u.text().data());
        return u.text().substr(0, size);
    }
    composed.append(u.scheme()).append("://").append(u.authority());
    return composed;
}

/// Returns true if requests to `u` are forwarded by the proxy in absolute form.
bool is_forwarded(const url& u, const std::shared_ptr<const connect::proxy>& by) noexcept {
    return by != nullptr && by->is_http() && u.scheme() == "http";
}

std::string name_of_forwarder(const connect::proxy& p) {
    return "through " + p.to_string();
}

std::string name_of_tunnel(std::string_view name) {
    return "tunnel to " + std::string(name);
}

}  // namespace

connection_pool::~connection_pool() {
    retire();
}

origin* connection_pool::look_up(const url& u, const std::shared_ptr<const transport>& t,
                                 bool upgrades) {
    std::string composed;
    const std::string_view name = name_of(u, composed);
    if (last_ != nullptr && last_->name_ == name && last_->transport_ == t) return last_;
    if (origin* const known = known_as(name, t)) return last_ = known;
    if (u.scheme() != "http" || !t->may_have_proxy()) return nullptr;
    const auto proxy = t->proxy_for(u.scheme(), u.host(), u.port());
    if (!proxy || !is_forwarded(u, *proxy)) return nullptr;
    return known_as(upgrades ? name_of_tunnel(name) : name_of_forwarder(**proxy), t);
}

origin* connection_pool::known_as(std::string_view name,
                                  const std::shared_ptr<const transport>& t) {
    const auto [first, end] = origins_.equal_range(name);
    for (auto at = first; at != end; ++at) {
        if (at->second->transport_ == t) return at->second.get();
    }
    return nullptr;
}

std::expected<origin*, error> connection_pool::find(const url& u,
                                                    const std::shared_ptr<const transport>& t,
                                                    bool upgrades) {
    if (origin* const known = look_up(u, t, upgrades)) return known;
    auto proxy = t->proxy_for(u.scheme(), u.host(), u.port());
    if (!proxy) return std::unexpected(std::move(proxy).error());
    const bool forwarded = is_forwarded(u, *proxy);
    std::string composed;
    std::string known(name_of(u, composed));
    if (forwarded) known = upgrades ? name_of_tunnel(known) : name_of_forwarder(**proxy);
    auto made = std::make_unique<origin>(*this, known, u, t, *std::move(proxy),
                                         forwarded && upgrades, options_.handshakes);
    last_ = origins_.emplace(known, std::move(made))->second.get();
    if (last_->knows_http_2()) {
        last_->facts_.version = spoken::http_2;
    } else if (!last_->secure() || !t->offers_http_2()) {
        last_->facts_.version = spoken::http_1;
    } else if (const auto said = known_.find(known); said != known_.end()) {
        last_->facts_ = said->second;
    }
    return last_;
}

void connection_pool::forget(origin& o) noexcept {
    if (last_ == &o) last_ = nullptr;
    const auto [first, end] = origins_.equal_range(o.name_);
    for (auto at = first; at != end; ++at) {
        if (at->second.get() == &o) {
            origins_.erase(at);
            return;
        }
    }
}

bool connection_pool::is_too_old(const client_connection& c) const noexcept {
    return options_.lifetime > duration::zero() && owner_->now() - c.born() > options_.lifetime;
}

/// Returns an HTTP/2 connection that is in use and has a free place. Idle ones are in `idle_`.
client_h2_connection* connection_pool::shared_with_place(
    origin& o, const client_connection* avoided) noexcept {
    if (o.shared_.empty() || gives_way(o)) return nullptr;
    for (h2_place_link* at = o.shared_.front(); at != nullptr; at = o.shared_.next(*at)) {
        auto* const c = static_cast<client_h2_connection*>(at);
        if (c == avoided || c->exchanges() == 0 || is_too_old(*c)) continue;
        if (c->has_place(options_.streams)) return c;
    }
    return nullptr;
}

/// Returns true if `o` must not use a free place for now, because others are first. It is served
/// once no earlier origin waits, or has done so for `giving_way`.
bool connection_pool::gives_way(origin& o) noexcept {
    if (!others_are_first(o)) return false;
    const time_point since = origin_of(*ready_.front()).waiting_.front()->since();
    const auto times = (owner_->now() - since) / giving_way;
    if (times % 2 != 0) return false;
    passed_over_.push_back(o);
    way_.arm(coracle::detail::later(since, (times + 1) * giving_way));
    return true;
}

lease connection_pool::take_place(origin& o, const client_connection* avoided) {
    if (client_h2_connection* const c = shared_with_place(o, avoided)) {
        lease place(c->begin_exchange());
        ++counters_.reused;
        return place;
    }
    while (client_connection* c = first(o.idle_)) {
        stop_waiting(*c);
        // Bytes received without a request would be taken for the response to this one.
        if (is_too_old(*c) || !c->fit()) {
            ++counters_.stale;
            close(*c, false);
            continue;
        }
        return use_idle(*c);
    }
    return {};
}

/// Takes an idle connection off its lists.
void connection_pool::stop_waiting(client_connection& c) noexcept {
    static_cast<pool_link&>(c).unlink();
    static_cast<idle_link&>(c).unlink();
    --counters_.idle;
    c.end_waiting();
}

lease connection_pool::use_idle(client_connection& c) {
    used_.push_front(c);
    try {
        lease place(c.begin_exchange());
        ++counters_.reused;
        return place;
    } catch (const std::bad_alloc&) {
        close(c, false);
        throw;
    }
}

bool connection_pool::close_an_idle_one() noexcept {
    if (idle_.empty()) return false;
    discard_idle(*static_cast<client_connection*>(idle_.front()));
    return true;
}

bool connection_pool::try_open(origin& o) noexcept {
    if (o.open_ >= options_.connections_per_host || o.waits_for_opening()) return false;
    while (is_full()) {
        if (!close_an_idle_one()) return false;
    }
    ++o.open_;
    ++counters_.open;
    opening_begins(o);
    keep_place(o);
    return true;
}

bool connection_pool::wait(connection_request& r) noexcept {
    if (counters_.waiting >= options_.waiting) return false;
    ++counters_.waiting;
    r.begin_waiting(++last_number_, owner_->now());
    origin& o = r.at();
    o.waiting_.push_back(r);
    if (o.waiting_.front() == &r) keep_place(o);
    return true;
}

void connection_pool::withdraw(connection_request& r) noexcept {
    if (!r.is_waiting()) return;
    r.end_waiting();
    r.unlink();
    --counters_.waiting;
    keep_place(r.at());
}

void connection_pool::keep_place(origin& o) noexcept {
    put_in_order(o);
    const std::uint64_t first = ready_.empty() ? 0 : first_number(origin_of(*ready_.front()));
    if (std::exchange(first_ready_, first) != first) serve_passed_over();
}

/// Searches from the end, because new requests and those just served belong there.
void connection_pool::put_in_order(origin& o) noexcept {
    ready_link& link = o;
    link.unlink();
    if (o.waiting_.empty() || o.open_ >= options_.connections_per_host) return;
    if (o.waits_for_opening()) return;
    ready_link* before = ready_.back();
    while (before != nullptr && first_number(origin_of(*before)) > first_number(o)) {
        before = ready_.previous(*before);
    }
    if (before == nullptr) {
        ready_.push_front(link);
    } else {
        ready_.insert_behind(*before, link);
    }
}

/// Serves the requests that got no free place on a connection because the first of `ready_` had
/// waited longer, as far as that is no longer so. Serving them changes no place in `ready_` but
/// their own.
void connection_pool::serve_passed_over() noexcept {
    intrusive_list<passed_over_link> some;
    some.splice(passed_over_);
    while (passed_over_link* const link = some.pop_front()) {
        serve_places(static_cast<origin&>(*link));
    }
}

void connection_pool::opening_begins(origin& o) noexcept {
    if (o.opening_++ != 0 || o.facts_.version == spoken::http_1) return;
    o.patience_over_ = false;
    const duration most = o.facts_.version == spoken::unknown ? alpn_patience : opening_patience;
    o.arm(coracle::detail::later(owner_->now(), most));
}

void connection_pool::opening_ended(origin& o) noexcept {
    if (--o.opening_ == 0) o.disarm();
}

void connection_pool::patience_over(origin& o) noexcept {
    o.patience_over_ = true;
    keep_place(o);
    serve_all();
}

template <class T>
void origin::learn(T origin_facts::* fact, T value) noexcept {
    facts_.*fact = value;
    if (!secure_) return;
    auto& known = pool_->known_;
    if (known.size() >= most_known && !known.contains(name_)) known.clear();
    try {
        known[name_].*fact = value;
    } catch (const std::bad_alloc&) {
        return;  // the next connection shows it anew
    }
}

void origin::wants_http_1() noexcept {
    learn(&origin_facts::wants_http_1, true);
}

void origin::upgrades_http_1_only() noexcept {
    learn(&origin_facts::upgrades_http_1_only, true);
}

void origin::keeps_apart() noexcept {
    learn(&origin_facts::keeps_apart, true);
}

lease connection_pool::opened(origin& o, std::unique_ptr<net::byte_stream> stream,
                              const tls::session_info* secured) {
    const bool is_http_2 = secured != nullptr ? secured->protocol() == "h2" : o.knows_http_2();
    lease place;
    if (is_http_2) {
        auto* const c = new client_h2_connection(o, std::move(stream), secured);
        ++counters_.h2_connections;
        try {
            place = lease(c->begin_exchange());
        } catch (const std::bad_alloc&) {
            c->end(true);
            throw;
        }
        used_.push_front(*c);
        o.shared_.push_back(*c);
        c->start();
    } else {
        auto* const c = new client_h1_connection(o, std::move(stream), secured);
        used_.push_front(*c);
        place = lease(c->begin_exchange());
    }
    ++counters_.opened;
    opening_ended(o);
    if (secured != nullptr && o.get_transport().offers_http_2()) {
        o.learn(&origin_facts::version, is_http_2 ? spoken::http_2 : spoken::http_1);
    }
    serve_places(o);
    keep_place(o);
    serve_all();
    return place;
}

void connection_pool::grant(connection_request& r, lease l) noexcept {
    r.unlink();
    keep_place(r.at());
    --counters_.waiting;
    r.serve(std::move(l));
}

bool connection_pool::others_are_first(origin& o) noexcept {
    if (ready_.empty() || !is_full()) return false;
    origin& next = origin_of(*ready_.front());
    return &next != &o && (o.waiting_.empty() || first_number(next) < first_number(o));
}

void connection_pool::give_back(client_connection& c) noexcept {
    origin& o = c.home();
    if (retired_ || others_are_first(o) || is_too_old(c) || !c.alive()) {
        close(c, false);
        return;
    }
    if (o.waiting_.empty()) {
        keep(c);
    } else if (!try_grant(*o.waiting_.front(), c)) {
        close(c, false);
    }
}

/// Keeps a connection that no request waits for as an idle one.
void connection_pool::keep(client_connection& c) noexcept {
    if (!c.begin_waiting(coracle::detail::later(owner_->now(), options_.idle_time))) {
        close(c, false);
        return;
    }
    c.home().idle_.push_front(c);
    idle_.push_back(c);
    ++counters_.idle;
}

/// Grants free places on HTTP/2 connections to waiting requests.
void connection_pool::serve_places(origin& o) noexcept {
    while (!retired_ && serve_one_place(o)) {
    }
}

/// Grants a place to the request that has waited longest of those that may use it.
bool connection_pool::serve_one_place(origin& o) noexcept {
    for (connection_request* r = o.waiting_.front(); r != nullptr; r = o.waiting_.next(*r)) {
        client_h2_connection* const c = shared_with_place(o, r->avoided());
        if (c != nullptr) return try_grant(*r, *c);  // tried again when a place is freed
        if (r->avoided() == nullptr) return false;
    }
    return false;
}

/// Returns false without memory.
bool connection_pool::try_grant(connection_request& r, client_connection& c) noexcept {
    try {
        lease place(c.begin_exchange());
        ++counters_.reused;
        grant(r, std::move(place));
    } catch (const std::bad_alloc&) {
        return false;
    }
    return true;
}

void connection_pool::place_freed(client_h2_connection& c) noexcept {
    origin& o = c.home();
    if (c.exchanges() == 0 && (retired_ || !c.usable() || others_are_first(o) || is_too_old(c))) {
        close(c, false);
        return;
    }
    if (c.exchanges() != 0) {
        serve_places(o);
        return;
    }
    if (o.waiting_.empty()) {
        keep(c);
        return;
    }
    give_back(c);
    serve_places(o);
}

void connection_pool::places_changed(client_h2_connection& c) noexcept {
    origin& o = c.home();
    if (c.exchanges() == 0 && !c.usable()) {
        discard_idle(c);
    } else if (!o.waiting_.empty()) {
        serve_places(o);
    }
}

void connection_pool::lost(client_h2_connection& c) noexcept {
    static_cast<h2_place_link&>(c).unlink();
    if (c.exchanges() == 0) discard_idle(c);
}

void connection_pool::close_idle(origin& o) noexcept {
    while (client_connection* c = first(o.idle_)) discard_idle(*c);
}

void connection_pool::discard_idle(client_connection& c) noexcept {
    ++counters_.stale;
    stop_waiting(c);
    close(c, false);
}

void connection_pool::close(client_connection& c, bool reset) noexcept {
    origin& o = c.home();
    c.end(reset);
    closed_one(o);
}

void connection_pool::detached(client_connection& c) noexcept {
    close(c, false);
}

void connection_pool::replace(client_connection& c) noexcept {
    ++counters_.stale;
    --counters_.reused;
    opening_begins(c.home());
    c.end(false);
}

void connection_pool::closed_one(origin& o) noexcept {
    --o.open_;
    --counters_.open;
    keep_place(o);
    serve_waiting();
    if (o.users_ == 0 && o.open_ == 0) forget(o);
}

void connection_pool::serve_waiting() noexcept {
    if (ready_.empty() || is_full()) return;
    origin& next = origin_of(*ready_.front());
    ++next.open_;
    ++counters_.open;
    opening_begins(next);
    grant(*next.waiting_.front(), lease());
}

/// Lets as many requests open connections as the limits allow.
void connection_pool::serve_all() noexcept {
    while (!ready_.empty() && !is_full()) serve_waiting();
}

void connection_pool::retire() noexcept {
    retired_ = true;
    for (bool more = true; more;) more = close_an_idle_one();
}

void connection_pool::abandon() noexcept {
    retire();
    while (client_connection* c = take_first(used_)) c->abandon();
}

}  // namespace coracle::http::detail
