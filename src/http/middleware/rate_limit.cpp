#include "base/lru_map.hpp"
#include "http/middleware/filter.hpp"
#include "runtime/end_if_cancelled.hpp"

#include <coracle/http/middleware/rate_limit.hpp>
#include <coracle/net/network.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/tls/hash.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <mutex>
#include <optional>

namespace coracle::http {
namespace {

std::string address_of(const request& req) {
    constexpr unsigned whole = 128;
    constexpr unsigned site = 64;
    const net::address& a = req.client();
    if (a.family() == net::family::unix_path) return "unix";
    const bool is_v6 = a.family() == net::family::v6 && !a.is_mapped();
    return net::network::around(a, is_v6 ? site : whole).to_string();
}

/// Names longer than this are replaced by a digest: they are a client's.
constexpr std::size_t longest_name = 100;

std::string shortened(std::string name) {
    if (name.size() <= longest_name) return name;
    return tls::to_hex(tls::digest(tls::hash::sha256, name));
}

std::string to_text(double number) {
    std::array<char, 32> text{};
    const auto end = std::to_chars(text.begin(), text.end(), number);
    return std::string(text.begin(), end.ptr);
}

/// The buckets of some of the names.
class bucket_table {
public:
    /// Takes a token. Gives zero, or how long it takes until there is one.
    duration take(const std::string& key, time_point now, double burst, double rate,
                  std::size_t most) {
        const std::lock_guard lock(guard_);
        bucket* const known = buckets_.use(key);
        if (known == nullptr) {
            if (buckets_.size() >= most) buckets_.take_oldest();
            buckets_.put(key, {burst - 1, now});
            return duration::zero();
        }
        bucket& b = *known;
        const double seconds = std::chrono::duration<double>(now - b.at).count();
        b.tokens = std::min(burst, b.tokens + std::max(0.0, seconds) * rate);
        // The clocks of two loops differ by up to a turn: what was given is not given again.
        b.at = std::max(b.at, now);
        if (b.tokens >= 1) {
            b.tokens -= 1;
            return duration::zero();
        }
        // Bounded by what the clock can hold.
        constexpr double longest = 1e9;
        const std::chrono::duration<double> wait(std::min((1 - b.tokens) / rate, longest));
        return std::max(duration(1), std::chrono::duration_cast<duration>(wait));
    }

private:
    struct bucket {
        double tokens;
        time_point at;
    };

    std::mutex guard_;
    coracle::detail::lru_map<std::string, bucket> buckets_;
};

}  // namespace

class rate_limit::rules {
public:
    explicit rules(rate_limit_options o) : options_(std::move(o)) {
        const double seconds = std::chrono::duration<double>(options_.per).count();
        const bool has_time =
            options_.store == nullptr || options_.store_timeout > duration::zero();
        if (!(options_.requests > 0) || !(seconds > 0) || options_.keys == 0 || !has_time) {
            error e(std::errc::invalid_argument, "rate_limit_options");
            throw_exception(std::move(e));
        }
        rate_ = options_.requests / seconds;
        burst_ = options_.burst != 0 ? static_cast<double>(options_.burst)
                                     : std::max(1.0, options_.requests);
        most_ = std::max<std::size_t>(1, options_.keys / tables_.size());
        if (!options_.key) options_.key = address_of;
        if (options_.name.empty()) options_.name = to_text(rate_) + '/' + to_text(burst_);
        scope_ = std::to_string(options_.name.size()) + ':' + options_.name + ':';
    }

    bool admit(request& req, response& out) {
        const std::string key = shortened(options_.key(req));
        if (key.empty()) return true;
        bucket_table& table = tables_[std::hash<std::string>()(key) % tables_.size()];
        const duration wait = table.take(key, loop::current()->now(), burst_, rate_, most_);
        if (wait == duration::zero()) return true;
        out = refusal(wait);
        return false;
    }
    void finish(const request&, response&) const noexcept {}

    bool has_store() const noexcept { return options_.store != nullptr; }
    /// Gives the response of a request that is refused, or nothing.
    static task<std::optional<response>> refusal_by_store(rules* r, const request* req) {
        std::string key = shortened(r->options_.key(*req));
        if (key.empty()) co_return std::nullopt;
        key.insert(0, r->scope_);
        const token_rate rate = {r->rate_, r->burst_};
        auto taking = r->options_.store->take(key, rate);
        auto limited = with_timeout(r->options_.store_timeout, std::move(taking));
        auto ended = co_await as_result(limited);
        if (ended && *ended) {
            r->note_success();
            if (**ended == duration::zero()) co_return std::nullopt;
            co_return r->refusal(**ended);
        }
        const error why = ended ? std::move(ended->error()) : std::move(ended.error());
        co_await coracle::detail::end_if_cancelled(why);
        r->note_failure(why);
        if (r->options_.on_failure == rate_limit_failure::admit && !r->is_overrun(why)) {
            co_return std::nullopt;
        }
        response closed(status::service_unavailable);
        closed.set("Retry-After", "1");
        co_return closed;
    }

    std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
    std::uint64_t failures() const noexcept { return failures_.load(std::memory_order_relaxed); }

private:
    response refusal(duration wait) {
        refused_.fetch_add(1, std::memory_order_relaxed);
        const auto seconds = std::chrono::ceil<std::chrono::seconds>(wait);
        response r(status::too_many_requests);
        r.set("Retry-After", std::to_string(seconds.count()));
        return r;
    }
    void note_success() noexcept {
        last_success_.store(loop::current()->now().time_since_epoch(), std::memory_order_relaxed);
    }
    /// Returns true if the store works, and has no room for one request more: too many come.
    bool is_overrun(const error& why) const noexcept {
        constexpr duration lately = std::chrono::seconds(1);
        const time_point last(last_success_.load(std::memory_order_relaxed));
        return why == errc::limit_exceeded && loop::current()->now() - last < lately;
    }
    void note_failure(const error& why) {
        failures_.fetch_add(1, std::memory_order_relaxed);
        loop::current()->log().write(log_layer::http, log_level::warning,
                                     "the store of a rate limit failed: " + why.message());
    }

    rate_limit_options options_;
    std::string scope_;  ///< the beginning of keys in the store
    double rate_ = 0;    ///< tokens a second
    double burst_ = 0;   ///< tokens of a full bucket
    std::size_t most_ = 0;
    std::array<bucket_table, 16> tables_;
    std::atomic<std::uint64_t> refused_{0};
    std::atomic<std::uint64_t> failures_{0};
    std::atomic<duration> last_success_{-std::chrono::hours(1)};
};

namespace {

/// Asks the store before each request.
class asking_filter {
public:
    asking_filter(std::shared_ptr<rate_limit::rules> rules, handler inner)
        : rules_(std::move(rules)), inner_(std::move(inner)) {}

    task<response> operator()(request& req) const {
        auto asking = rate_limit::rules::refusal_by_store(rules_.get(), &req);
        auto refused = co_await std::move(asking);
        if (refused) co_return *std::move(refused);
        co_return co_await inner_(req);
    }

private:
    std::shared_ptr<rate_limit::rules> rules_;
    handler inner_;
};

}  // namespace

rate_limit::rate_limit(rate_limit_options options)
    : rules_(std::make_shared<rules>(std::move(options))) {}

handler rate_limit::operator()(handler inner) const {
    if (rules_->has_store()) return asking_filter(rules_, std::move(inner));
    return detail::filtered(rules_, std::move(inner));
}

std::uint64_t rate_limit::refused() const noexcept {
    return rules_->refused();
}

std::uint64_t rate_limit::store_failures() const noexcept {
    return rules_->failures();
}

}  // namespace coracle::http
