#include "http/client/core.hpp"

#include "base/ascii.hpp"
#include "http/client/call_state.hpp"
#include "http/client/shard.hpp"
#include "http/message/token.hpp"

#include <coracle/http/client_settings.hpp>

#include <algorithm>

namespace coracle::http::detail {

namespace {

/// As many calls as may wait, and those that are on their way.
background_options with_room_for(background_options b, const pool_options& p) noexcept {
    const std::size_t calls = p.waiting + p.connections;
    if (b.active < calls) b.active = calls;
    return b;
}

}  // namespace

bool lists_protocol(std::string_view list, std::string_view scheme) noexcept {
    while (!list.empty()) {
        if (trim_ows(coracle::detail::take_item(list)) == scheme) return true;
    }
    return false;
}

std::optional<error> problem_of(const client_options& o) {
    if (is_field_value(o.user_agent)) return {};
    error e(std::errc::invalid_argument, "request");
    return std::move(e.on("client_options.user_agent"));
}

client_core::client_core(client_options o, pool_options p, background_options b)
    : pool_(p), background_options_(with_room_for(b, p)),
      environment_(connect::proxy_environment::read()) {
    set_defaults(std::move(o));
}

client_core::~client_core() = default;

client_options client_core::defaults() const {
    return prepared()->values;
}

void client_core::set_defaults(client_options o) {
    const std::lock_guard lock(changing_);
    prepare(std::move(o));
}

std::expected<void, error> client_core::change_defaults(std::string_view text) {
    const std::lock_guard lock(changing_);
    client_options o = defaults();
    auto read = read_options(o, text);
    if (read) prepare(std::move(o));
    return read;
}

void client_core::prepare(client_options o) {
    auto next = std::make_shared<prepared_options>();
    auto way = way_for(o);
    if (way) {
        next->way = *std::move(way);
        next->problem = problem_of(o);
    } else {
        next->problem = std::move(way).error();
    }
    next->http_is_safe = lists_protocol(o.safe_protocols, "http");
    next->https_is_safe = lists_protocol(o.safe_protocols, "https");
    next->values = std::move(o);
    const std::lock_guard lock(guard_);
    prepared_ = std::move(next);
    generation_.fetch_add(1, std::memory_order_release);
}

std::shared_ptr<const prepared_options> client_core::prepared() const {
    const std::lock_guard lock(guard_);
    return prepared_;
}

std::expected<std::shared_ptr<const transport>, error> client_core::way_for(
    const client_options& o) {
    // Ways that are kept: each may hold connections, certificates and sessions.
    constexpr std::size_t most = 64;
    {
        const std::lock_guard lock(guard_);
        const auto known = std::ranges::find_if(
            ways_, [&o](const auto& w) { return transport::same(w->options(), o); });
        if (known != ways_.end()) return *known;
    }
    auto made = transport::make(o, environment_);
    if (!made) return made;
    const std::lock_guard lock(guard_);
    if (ways_.size() == most) ways_.erase(ways_.begin());
    ways_.push_back(*made);
    return made;
}

client_shard* client_core::here() {
    loop* const l = loop::current();
    assert(l != nullptr);
    if (resident* const r = l->find_resident(this)) return static_cast<client_shard*>(r);
    const std::lock_guard lock(guard_);
    if (closed_) return nullptr;
    auto made = std::make_unique<client_shard>(*this, *l);
    places_.push_back({l, made.get()});
    l->settle(*made);
    return made.release();
}

void client_core::forget(client_shard& s) noexcept {
    const std::lock_guard lock(guard_);
    std::erase_if(places_, [&s](const place& p) { return p.shard == &s; });
}

void client_core::close() noexcept {
    std::vector<place> others;
    {
        const std::lock_guard lock(guard_);
        closed_ = true;
        // A loop that ends takes the lock before its shard goes: those in the list are there.
        for (const place& p : places_) {
            if (p.on == loop::current()) {
                others.push_back(p);
            } else {
                client_shard* const s = p.shard;
                p.on->post([s, keep = shared_from_this()] { s->retire(); });
            }
        }
    }
    for (const place& p : others) p.shard->retire();
}

void client_core::intercept(unique_function<handler(handler)> around) {
    interceptors_.push_back(std::move(around));
    handler inner = innermost_handler();
    for (auto i = interceptors_.rbegin(); i != interceptors_.rend(); ++i) {
        inner = (*i)(std::move(inner));
    }
    chain_ = std::move(inner);
}

std::shared_ptr<background> client_core::own_loop() {
    const std::lock_guard lock(guard_);
    if (ended_) throw_exception(error(errc::shutting_down, "request"));
    if (background_ == nullptr) background_ = std::make_shared<background>(background_options_);
    return background_;
}

void client_core::end_own_loop() noexcept {
    std::shared_ptr<background> own;
    {
        const std::lock_guard lock(guard_);
        ended_ = true;
        own = std::move(background_);
    }
    // Whoever starts a call at this moment may hold it longer than this does. What destroys it must
    // not wait for calls then, and none of its own threads may.
    if (own != nullptr) static_cast<void>(own->stop(background_options_.drain));
}

bool client_core::stop(duration limit) {
    std::shared_ptr<background> own;
    {
        const std::lock_guard lock(guard_);
        ended_ = true;
        own = background_;
    }
    return own != nullptr && own->stop(limit);
}

client_statistics client_core::statistics() {
    client_statistics s;
    const std::lock_guard lock(guard_);
    for (const place& p : places_) p.shard->add_to(s);
    if (background_ != nullptr) {
        s.active = background_->active();
        s.peak = background_->peak();
        s.failed_callbacks = background_->failed_callbacks();
    }
    return s;
}

}  // namespace coracle::http::detail
