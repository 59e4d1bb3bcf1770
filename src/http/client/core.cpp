#include "http/client/core.hpp"

#include "base/ascii.hpp"
#include "http/client/call_state.hpp"
#include "http/client/shard.hpp"
#include "http/message/token.hpp"

#include <coracle/http/client_settings.hpp>

#include <algorithm>

namespace coracle::http::detail {

namespace {

/// The most calls of the own loop: those that may wait, and those under way.
background_options with_room_for(background_options b, const pool_options& p) noexcept {
    std::size_t calls = 0;
    if (__builtin_add_overflow(p.waiting, p.connections, &calls)) calls = ~std::size_t{0};
    b.active = std::max<std::size_t>(b.active, calls);
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
    return std::move(e.on("client_options::user_agent"));
}

client_core::client_core(client_options o, pool_options p, background_options b)
    : pool_(p), environment_(connect::proxy_environment::read()),
      own_loop_(with_room_for(b, p), "request") {
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
    auto t = transport_for(o);
    if (t) {
        next->made = *std::move(t);
        next->problem = problem_of(o);
    } else {
        next->problem = std::move(t).error();
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

std::shared_ptr<const transport> client_core::known_transport(const client_options& o) {
    if (prepared_ != nullptr && prepared_->made != nullptr &&
        transport::same(prepared_->made->options(), o)) {
        return prepared_->made;
    }
    const auto known = std::ranges::find_if(
        transports_, [&o](const auto& w) { return transport::same(w->options(), o); });
    if (known == transports_.end()) return nullptr;
    std::rotate(known, known + 1, transports_.end());
    return transports_.back();
}

std::expected<std::shared_ptr<const transport>, error> client_core::transport_for(
    const client_options& o) {
    // The most transports kept: each may hold connections, certificates and sessions.
    constexpr std::size_t most = 64;
    {
        const std::lock_guard lock(guard_);
        if (auto known = known_transport(o)) return known;
    }
    auto made = transport::make(o, environment_);
    if (!made) return made;
    const std::lock_guard lock(guard_);
    // Another thread may have made it meanwhile.
    if (auto known = known_transport(o)) return known;
    if (transports_.size() == most) transports_.erase(transports_.begin());
    transports_.push_back(*made);
    return made;
}

client_shard* client_core::here() {
    return parts_.here(*this);
}

void client_core::forget(client_shard& s) noexcept {
    parts_.forget(s);
}

void client_core::close() noexcept {
    parts_.close(shared_from_this());
}

void client_core::intercept(unique_function<handler(handler)> around) {
    interceptors_.push_back(std::move(around));
    try {
        handler inner = innermost_handler();
        for (auto i = interceptors_.rbegin(); i != interceptors_.rend(); ++i) {
            inner = (*i)(std::move(inner));
        }
        chain_ = std::move(inner);
    } catch (...) {
        // Each later one would call it again.
        interceptors_.pop_back();
        throw;
    }
}

client_statistics client_core::statistics() {
    client_statistics s;
    parts_.for_each([&s](const client_shard& part) { part.add_to(s); });
    own_loop_.add_to(s);
    return s;
}

}  // namespace coracle::http::detail
