#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/base/url.hpp>
#include <coracle/http/middleware/jwt_key_set.hpp>
#include <coracle/runtime/detail/resident.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/mutex.hpp>
#include <coracle/runtime/spawn.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>

namespace coracle::http {
namespace {

/// The max-age of a response; nothing where it has none. One that must not be kept has 0.
std::optional<std::chrono::seconds> max_age_of(std::string_view control) {
    std::optional<std::chrono::seconds> age;
    while (!control.empty()) {
        const std::string_view item = trim_ows(coracle::detail::take_item(control));
        constexpr std::string_view name = "max-age=";
        if (equal_ignoring_case(item, "no-store") || equal_ignoring_case(item, "no-cache")) {
            return std::chrono::seconds(0);
        }
        if (!equal_ignoring_case(item.substr(0, name.size()), name)) continue;
        std::uint32_t seconds = 0;
        const char* const last = item.data() + item.size();
        const auto [end, failure] = std::from_chars(item.data() + name.size(), last, seconds);
        if (end != last) continue;
        // RFC 9111 section 1.2.2: a number that is too large stands for a very long time.
        if (failure == std::errc::result_out_of_range) seconds = UINT32_MAX;
        if (failure != std::errc::invalid_argument) age = std::chrono::seconds(seconds);
    }
    return age;
}

/// The time for which it stays fresh: less what it has spent in caches on the way (RFC 9111 section
/// 4.2).
std::optional<std::chrono::seconds> lifetime_of(const fields& of) {
    std::optional<std::chrono::seconds> least;
    for (const field& f : of) {
        if (!equal_ignoring_case(f.name, "Cache-Control")) continue;
        const auto said = max_age_of(f.value);
        if (said && (!least || *said < *least)) least = said;
    }
    if (!least) return std::nullopt;
    const std::string_view age = of.get(field_id::age);
    std::uint32_t spent = 0;
    const auto read = std::from_chars(age.data(), age.data() + age.size(), spent);
    if (read.ec == std::errc::result_out_of_range) spent = UINT32_MAX;
    return std::max(*least - std::chrono::seconds(spent), std::chrono::seconds(0));
}

}  // namespace

class jwt_key_set::state {
public:
    state(client& by, std::string where, const jwt_key_set_options& o)
        : from(by), url(std::move(where)), options(o) {
        const bool is_good = o.lifetime.count() > 0 && o.shortest.count() > 0 &&
                             o.longest >= o.shortest && o.pause.count() > 0 &&
                             o.retry.count() > 0 && o.patience.count() > 0 && o.bytes != 0 &&
                             o.stale.count() >= 0;
        if (is_good && coracle::url::parse(url)) return;
        error e(std::errc::invalid_argument, "jwt_key_set");
        throw_exception(std::move(e.on(is_good ? url : "options")));
    }

    client& from;
    const std::string url;
    const jwt_key_set_options options;
    std::atomic<std::uint64_t> fetches{0};
    std::atomic<std::uint64_t> failures{0};
};

namespace {

using shared_keys = std::shared_ptr<const jwt_keys>;

/// The keys on one loop.
class loop_keys final : public resident {
public:
    explicit loop_keys(std::shared_ptr<jwt_key_set::state> of)
        : resident(of.get()), set_(std::move(of)) {}
    void loop_ended() noexcept override { delete this; }

    static loop_keys& here(const std::shared_ptr<jwt_key_set::state>& of) {
        loop& l = *loop::current();
        if (resident* const r = l.find_resident(of.get())) return static_cast<loop_keys&>(*r);
        auto made = std::make_unique<loop_keys>(of);
        l.settle(*made);
        return *made.release();
    }

    static task<std::expected<shared_keys, error>> find(std::shared_ptr<jwt_key_set::state> of,
                                                        std::string id) {
        loop_keys& k = here(of);
        k.forget_when_too_old();
        const bool is_usable = k.keys_ != nullptr && (id.empty() || k.keys_->may_mean(id));
        // A key without an id may be the one that the token names, or one that came after it.
        const bool is_known = is_usable && (id.empty() || k.keys_->has(id));
        const bool is_wanted = !is_known || now() >= k.fresh_until_;
        // In a task of its own: requests may be cancelled.
        if (is_wanted && k.may_fetch() && !k.turn_.locked()) {
            spawn([&k] { return refresh(&k); }, "JWT keys");
        }
        if (is_usable || !k.turn_.locked()) co_return k.keys_;
        auto lock = co_await k.turn_.lock();
        co_return k.keys_;
    }

private:
    static time_point now() noexcept { return loop::current()->now(); }
    bool may_fetch() const noexcept { return now() >= not_before_; }

    void forget_when_too_old() noexcept {
        if (keys_ != nullptr &&
            now() >= coracle::detail::later(fresh_until_, set_->options.stale)) {
            keys_.reset();
        }
    }

    static task<> refresh(loop_keys* k) {
        auto lock = co_await k->turn_.lock();
        if (!k->may_fetch()) co_return;
        auto fetching = fetch(k);
        co_await std::move(fetching);
    }

    /// Under the lock. Keeps the keys that are there where it fails.
    static task<> fetch(loop_keys* k) {
        const jwt_key_set_options& o = k->set_->options;
        k->set_->fetches.fetch_add(1, std::memory_order_relaxed);
        // Also where the loop ends meanwhile.
        k->not_before_ = coracle::detail::later(now(), o.retry);
        auto reading = read(k);
        const auto failed = co_await std::move(reading);
        if (!failed) co_return;
        k->set_->failures.fetch_add(1, std::memory_order_relaxed);
        k->not_before_ = coracle::detail::later(now(), o.retry);
        loop::current()->log().write(log_layer::http, log_level::warning,
                                     "JWT keys: " + failed->message());
    }

    /// Gives why it failed.
    static task<std::optional<error>> read(loop_keys* k) {
        const jwt_key_set_options& o = k->set_->options;
        auto asking = k->set_->from.get(k->set_->url)
                          .header("Accept", "application/jwk-set+json, application/json")
                          .timeout(o.patience);
        auto got = co_await as_result(asking);
        if (!got) co_return std::move(got).error();
        if (got->status() != status::ok) {
            error e(std::errc::bad_message, "JWT keys");
            co_return std::move(
                e.on(k->set_->url + ": status " + std::to_string(static_cast<int>(got->status()))));
        }
        const auto lifetime = lifetime_of(got->fields());
        auto reading = got->text(o.bytes);
        auto text = co_await as_result(reading);
        if (!text) co_return std::move(text).error();
        auto made = std::make_shared<jwt_keys>();
        const auto added = made->add_set(*text);
        if (!added || *added == 0) {
            error e(std::errc::bad_message, "JWT keys");
            co_return std::move(e.on(k->set_->url + " has no key that can be used"));
        }
        k->keys_ = std::move(made);
        const duration asked = lifetime ? duration(*lifetime) : o.lifetime;
        k->fresh_until_ = coracle::detail::later(now(), std::clamp(asked, o.shortest, o.longest));
        k->not_before_ = coracle::detail::later(now(), o.pause);
        co_return std::nullopt;
    }

    std::shared_ptr<jwt_key_set::state> set_;
    shared_keys keys_;
    time_point fresh_until_ = time_point::min();
    time_point not_before_ = time_point::min();
    mutex<> turn_;
};

}  // namespace

jwt_key_set::jwt_key_set(client& by, std::string url, jwt_key_set_options options)
    : state_(std::make_shared<state>(by, std::move(url), options)) {}

operation<std::shared_ptr<const jwt_keys>> jwt_key_set::keys(std::string_view id) {
    return loop_keys::find(state_, std::string(id));
}

std::uint64_t jwt_key_set::fetches() const noexcept {
    return state_->fetches.load(std::memory_order_relaxed);
}
std::uint64_t jwt_key_set::failures() const noexcept {
    return state_->failures.load(std::memory_order_relaxed);
}

}  // namespace coracle::http
