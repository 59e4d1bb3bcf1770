#include "http/client/pool.hpp"

#include <algorithm>

namespace coracle::http::detail {

client_connection::client_connection(origin& home, std::unique_ptr<net::byte_stream> stream,
                                     const tls::stream* secured)
    : deadline(home.pool().owner()), hangup_watch{&client_connection::peer_gone}, home_(&home),
      stream_(std::move(stream)), secured_(secured), born_(home.pool().owner().now()) {}

client_connection::~client_connection() = default;

net::receive client_connection::receive_more(std::uint32_t most) {
    if (input && input.empty()) {
        const std::size_t filled = input.capacity() - input.spare_size();
        if (filled == input.capacity()) {
            room_ *= 4;
        } else if (filled < input.capacity() / 4 && !comes_fast()) {
            room_ = buffer::default_capacity;
        }
        input.release();
    }
    room_ = std::min(room_, most);
    if (!input) return stream_->receive(room_);
    if (input.spare_size() == 0) input.reserve_spare(input.capacity());
    return stream_->receive_into(std::move(input));
}

bool client_connection::comes_fast() const noexcept {
    return fast_ != nullptr && fast_->is_on();
}

net::receive client_connection::receive_body(std::uint32_t most, std::uint64_t left) {
    const bool is_full = input && input.empty() && input.spare_size() == 0;
    const bool is_fast = comes_fast() || (is_full && input.capacity() == largest_block);
    net::receive next = receive_more(most);
    if (is_fast && room_ == largest_block && left >= room_) {
        if (fast_ == nullptr) fast_ = std::make_unique<fast_body>(*stream_);
        fast_->wait_for(room_);
    } else {
        ends_body();
    }
    return next;
}

bool client_connection::begin_waiting(time_point until) noexcept {
    if (!stream_->watch_hangup(this)) return false;
    arm(until);
    return true;
}

void client_connection::end_waiting() noexcept {
    disarm();
    stream_->watch_hangup(nullptr);
}

void client_connection::expired() noexcept {
    home_->pool().discard_idle(*this);
}

void client_connection::peer_gone(hangup_watch& w) noexcept {
    auto& self = static_cast<client_connection&>(w);
    self.home_->pool().discard_idle(self);
}

void connection_request::leave() noexcept {
    withdraw();
    if (!is_served()) return;
    taken_ = true;
    if (granted_) {
        granted_.give_back();
    } else {
        at_->pool().not_opened(*at_);
    }
}

void connection_request::release_origin() noexcept {
    at_->pool().drop(*at_);
}

origin::origin(connection_pool& pool, std::string name, const url& u,
               std::shared_ptr<const transport> t, std::shared_ptr<const connect::proxy> p,
               std::size_t handshakes)
    : pool_(&pool), name_(std::move(name)), host_(u.host()), port_(u.port()),
      secure_(u.scheme() == "https"), way_(std::move(t)), proxy_(std::move(p)),
      handshakes_(handshakes) {}

std::shared_ptr<authenticator> origin::authentication(const credentials& who) {
    const auto same = [&who](const credentials& c) {
        return c.scheme == who.scheme && c.user == who.user && c.password == who.password;
    };
    if (authenticator_ == nullptr || !same(authenticator_->who())) {
        authenticator_ = std::make_shared<authenticator>(who);
    }
    return authenticator_;
}

namespace {

/// scheme://host[:port]
std::string_view name_of(const url& u, std::string& composed) {
    if (!u.has_user()) {
        const auto size = static_cast<std::size_t>(u.path().data() - u.text().data());
        return u.text().substr(0, size);
    }
    composed.append(u.scheme()).append("://").append(u.authority());
    return composed;
}

}  // namespace

connection_pool::~connection_pool() {
    retire();
}

origin* connection_pool::look_up(const url& u, const std::shared_ptr<const transport>& way) {
    std::string composed;
    const std::string_view name = name_of(u, composed);
    if (last_ != nullptr && last_->name_ == name && last_->way_ == way) return last_;
    const auto [first, end] = origins_.equal_range(name);
    for (auto at = first; at != end; ++at) {
        if (at->second->way_ == way) return last_ = at->second.get();
    }
    return nullptr;
}

std::expected<origin*, error> connection_pool::find(const url& u,
                                                    const std::shared_ptr<const transport>& way) {
    if (origin* const known = look_up(u, way)) return known;
    std::string composed;
    return make(name_of(u, composed), u, way);
}

std::expected<origin*, error> connection_pool::make(std::string_view name, const url& u,
                                                    const std::shared_ptr<const transport>& way) {
    auto proxy = way->proxy_for(u.scheme(), u.host(), u.port());
    if (!proxy) return std::unexpected(std::move(proxy).error());
    auto made = std::make_unique<origin>(*this, std::string(name), u, way, *std::move(proxy),
                                         options_.handshakes);
    last_ = made.get();
    origins_.emplace(std::string(name), std::move(made));
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

lease connection_pool::take_idle(origin& o) noexcept {
    while (client_connection* c = take_first(o.idle_)) {
        static_cast<idle_link&>(*c).unlink();
        --counters_.idle;
        c->end_waiting();
        // Bytes that no request asked for would be taken for the answer to this one.
        if (is_too_old(*c) || c->stream().has_input()) {
            ++counters_.stale;
            close(*c, false);
            continue;
        }
        ++counters_.reused;
        c->begins_exchange();
        used_.push_front(*c);
        return lease(c);
    }
    return {};
}

bool connection_pool::close_an_idle_one() noexcept {
    if (idle_.empty()) return false;
    discard_idle(*static_cast<client_connection*>(idle_.front()));
    return true;
}

bool connection_pool::try_open(origin& o) noexcept {
    if (o.open_ >= options_.connections_per_host) return false;
    while (is_full()) {
        if (!close_an_idle_one()) return false;
    }
    ++o.open_;
    ++counters_.open;
    keep_place(o);
    return true;
}

bool connection_pool::wait(connection_request& r) noexcept {
    if (counters_.waiting >= options_.waiting) return false;
    ++counters_.waiting;
    r.begin_waiting(++last_turn_, owner_->now());
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

/// Looked for from the end: those that come, and those that have just been served, are late.
void connection_pool::keep_place(origin& o) noexcept {
    turn_link& link = o;
    link.unlink();
    if (o.waiting_.empty() || o.open_ >= options_.connections_per_host) return;
    turn_link* before = ready_.back();
    while (before != nullptr && first_turn(origin_of(*before)) > first_turn(o)) {
        before = ready_.previous(*before);
    }
    if (before == nullptr) {
        ready_.push_front(link);
    } else {
        ready_.insert_behind(*before, link);
    }
}

lease connection_pool::opened(origin& o, std::unique_ptr<net::byte_stream> stream,
                              const tls::stream* secured) {
    ++counters_.opened;
    auto* const c = new client_connection(o, std::move(stream), secured);
    c->begins_exchange();
    used_.push_front(*c);
    return lease(c);
}

void connection_pool::grant(origin& o, lease l) noexcept {
    connection_request* const r = o.waiting_.pop_front();
    keep_place(o);
    --counters_.waiting;
    r->serve(std::move(l));
}

bool connection_pool::others_are_first(origin& o) noexcept {
    if (ready_.empty() || !is_full()) return false;
    origin& next = origin_of(*ready_.front());
    return &next != &o && (o.waiting_.empty() || first_turn(next) < first_turn(o));
}

void connection_pool::give_back(client_connection& c) noexcept {
    origin& o = c.home();
    c.input.release();
    c.ends_body();
    if (retired_ || others_are_first(o) || is_too_old(c) || !c.alive()) {
        close(c, false);
        return;
    }
    if (!o.waiting_.empty()) {
        ++counters_.reused;
        c.begins_exchange();
        grant(o, lease(&c));
        return;
    }
    if (!c.begin_waiting(coracle::detail::later(owner_->now(), options_.idle_time))) {
        close(c, false);
        return;
    }
    o.idle_.push_front(c);
    idle_.push_back(c);
    ++counters_.idle;
}

void connection_pool::close_idle(origin& o) noexcept {
    while (client_connection* c = first(o.idle_)) discard_idle(*c);
}

void connection_pool::discard_idle(client_connection& c) noexcept {
    ++counters_.stale;
    --counters_.idle;
    static_cast<pool_link&>(c).unlink();
    static_cast<idle_link&>(c).unlink();
    c.end_waiting();
    close(c, false);
}

void connection_pool::close(client_connection& c, bool reset) noexcept {
    origin& o = c.home();
    c.close(reset);
    delete &c;
    closed_one(o);
}

std::unique_ptr<net::byte_stream> connection_pool::detach(client_connection& c) noexcept {
    origin& o = c.home();
    auto stream = c.release_stream();
    delete &c;
    closed_one(o);
    return stream;
}

void connection_pool::make_room(client_connection& c) noexcept {
    ++counters_.stale;
    --counters_.reused;
    c.close(false);
    delete &c;
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
    grant(next, lease());
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
