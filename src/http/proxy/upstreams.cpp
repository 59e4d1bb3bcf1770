#include "base/exception_text.hpp"
#include "http/proxy/upstream_group.hpp"
#include "runtime/end_if_cancelled.hpp"
#include "runtime/shortest_period.hpp"

#include <coracle/base/url.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <new>

namespace coracle::http {
namespace {

void client_failed(const std::exception_ptr& e) noexcept try {
    loop::current()->log().write(
        log_layer::http, log_level::warning,
        "an upstream could not be checked: " + coracle::detail::describe_exception(e));
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): without memory it goes unsaid
}

/// Spreads the bits (the finalizer of SplitMix64).
std::uint64_t mix(std::uint64_t x) noexcept {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

/// FNV-1a: the same on every node, so that several proxies agree.
std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return mix(h);
}

}  // namespace

namespace detail {

upstream::upstream(std::string url_text) : url(std::move(url_text)), hash(hash_of(url)) {}

}  // namespace detail

using detail::upstream;

upstreams::group::group(http::client& c, const std::vector<std::string>& urls, upstream_options o)
    : client_(&c), options_(std::move(o)) {
    if (urls.empty()) throw_exception(error(std::errc::invalid_argument, "upstreams"));
    for (const std::string& text : urls) {
        if (auto read = url::parse(text); !read) throw_exception(std::move(read).error());
        members_.push_back(std::make_unique<upstream>(text));
    }
}

std::uint64_t upstreams::group::key_of(const request& req) const {
    if (options_.by != balance::hash) return 0;
    return hash_of(options_.key ? options_.key(req) : req.client().host());
}

template <class Usable>
upstream* upstreams::group::choose_among(const Usable& usable, std::uint64_t key,
                                         std::uint64_t first) noexcept {
    upstream* best = nullptr;
    std::uint64_t most = 0;
    for (std::size_t i = 0; i != members_.size(); ++i) {
        upstream& u = *members_[(first + i) % members_.size()];
        if (!usable(u)) continue;
        if (options_.by == balance::round_robin) return &u;
        // By rendezvous hashing each key has an order of all upstreams of its own, and takes the
        // first that is there.
        const std::uint64_t weight = options_.by == balance::hash
                                         ? mix(u.hash ^ key)
                                         : ~u.active.load(std::memory_order_relaxed);
        if (best != nullptr && weight <= most) continue;
        best = &u;
        most = weight;
    }
    return best;
}

upstream* upstreams::group::choose(const request& req, std::span<upstream* const> tried,
                                   time_point now) noexcept {
    last_request_.store(now, std::memory_order_relaxed);
    std::uint64_t key = 0;
    try {
        key = key_of(req);
    } catch (...) {
        // Any will do.
        key = next_.load(std::memory_order_relaxed);
    }
    const auto is_well = [&](const upstream& u) {
        return u.is_well.load(std::memory_order_relaxed) &&
               std::ranges::find(tried, &u) == tried.end();
    };
    const auto is_in = [&](const upstream& u) {
        return is_well(u) &&
               u.out_until.load(std::memory_order_relaxed) <= now.time_since_epoch().count();
    };
    // One step for each request, whatever becomes of it: else two of them may always meet the same.
    const std::uint64_t first = tried.empty() ? next_.fetch_add(1, std::memory_order_relaxed)
                                              : next_.load(std::memory_order_relaxed);
    if (upstream* const u = choose_among(is_in, key, first)) return u;
    return choose_among(is_well, key, first);
}

time_point upstreams::group::now() const noexcept {
    const loop* const here = loop::current();
    return here != nullptr ? here->now() : last_request_.load(std::memory_order_relaxed);
}

void upstreams::group::succeeded(upstream& u) noexcept {
    if (u.failed_in_a_row.load(std::memory_order_relaxed) == 0) return;
    u.failed_in_a_row.store(0, std::memory_order_relaxed);
    u.ejected_in_a_row.store(0, std::memory_order_relaxed);
}

void upstreams::group::failed(upstream& u, time_point now) noexcept {
    constexpr unsigned most_doublings = 5;
    u.failures.fetch_add(1, std::memory_order_relaxed);
    const unsigned failures = u.failed_in_a_row.fetch_add(1, std::memory_order_relaxed) + 1;
    if (options_.eject_after == 0 || failures < options_.eject_after) return;
    // Requests that were under way then say nothing new.
    auto out_until = u.out_until.load(std::memory_order_relaxed);
    if (out_until > now.time_since_epoch().count()) return;
    const unsigned before = u.ejected_in_a_row.load(std::memory_order_relaxed);
    constexpr duration longest = duration::max() / (1U << most_doublings);
    const duration pause =
        std::min(options_.eject_for, longest) * (1U << std::min(before, most_doublings));
    const time_point until = coracle::detail::later(now, pause);
    // Nor do those that fail at the same moment on other loops.
    if (!u.out_until.compare_exchange_strong(out_until, until.time_since_epoch().count(),
                                             std::memory_order_relaxed)) {
        return;
    }
    u.ejected_in_a_row.store(before + 1, std::memory_order_relaxed);
    u.ejections.fetch_add(1, std::memory_order_relaxed);
}

task<> upstreams::group::check(upstream& u) {
    std::string target = u.url;
    if (target.ends_with('/')) target.pop_back();
    target += options_.health_path;
    in_a_row so_far;
    for (;;) {
        try {
            auto asking = ask_for_health(&u, target, &so_far);
            co_await std::move(asking);
        } catch (...) {
            // An interceptor of the client may throw: says nothing of the upstream.
            client_failed(std::current_exception());
        }
        co_await sleep_for(std::max(options_.health_interval, coracle::detail::shortest_period));
    }
}

task<> upstreams::group::ask_for_health(detail::upstream* u, std::string_view target,
                                        in_a_row* so_far) {
    call asking = client_->get(target);
    asking.timeout(std::max(options_.health_timeout, duration(1)))
        .header("User-Agent", "coracle-health");
    // A redirect is no 2xx, whatever it leads to.
    asking.follow(follow::none, 0);
    auto response = co_await as_result(asking);
    if (!response) co_await coracle::detail::end_if_cancelled(response.error());
    const bool good = response && response->ok();
    so_far->well = good ? so_far->well + 1 : 0;
    so_far->ill = good ? 0 : so_far->ill + 1;
    if (good && so_far->well >= options_.well_after)
        u->is_well.store(true, std::memory_order_relaxed);
    if (!good && options_.ill_after != 0 && so_far->ill >= options_.ill_after)
        u->is_well.store(false, std::memory_order_relaxed);
    // The rest of the response is of no interest, and its connection is kept if it is short.
    if (response) static_cast<void>(co_await as_result(response->text()));
}

upstreams::upstreams(client& client, const std::vector<std::string>& urls, upstream_options o)
    : group_(std::make_unique<group>(client, urls, std::move(o))) {}

upstreams::~upstreams() = default;

task<> upstreams::check() {
    const auto all = [this](task_group& checks) -> task<> {
        for (const auto& u : group_->members()) {
            checks.spawn([this, &u] { return group_->check(*u); }, "health check");
        }
        co_return;
    };
    co_await with_task_group(all);
}

std::vector<upstream_state> upstreams::states() const {
    const std::int64_t now = group_->now().time_since_epoch().count();
    std::vector<upstream_state> found;
    for (const auto& u : group_->members()) {
        upstream_state s;
        s.url = u->url;
        s.is_well = u->is_well.load(std::memory_order_relaxed);
        s.is_ejected = u->out_until.load(std::memory_order_relaxed) > now;
        s.active = u->active.load(std::memory_order_relaxed);
        s.requests = u->requests.load(std::memory_order_relaxed);
        s.failures = u->failures.load(std::memory_order_relaxed);
        s.ejections = u->ejections.load(std::memory_order_relaxed);
        found.push_back(std::move(s));
    }
    return found;
}

}  // namespace coracle::http
