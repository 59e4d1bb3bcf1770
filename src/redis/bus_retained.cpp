// The messages that other processes had retained, which a topic bus fetches.

#include "redis/bus_core.hpp"
#include "websocket/topic_pattern.hpp"

#include <coracle/redis/error.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/websocket/topics.hpp>

#include <new>
#include <utility>

namespace coracle::redis::detail {
namespace {

using coracle::detail::is_cancellation;

/// Returns true if fetching may succeed later: the connection failed, or the server is unavailable.
bool may_be_asked_again(const error& e) noexcept {
    return e.code().category() != redis::category() || e == redis::errc::unavailable;
}

/// Returns true for a reply beyond a limit, which the next one would be as well.
bool is_too_large(const error& e) noexcept {
    return e == coracle::errc::limit_exceeded && !e.safe_to_retry();
}

}  // namespace

task<> bus_core::fetch_retained() {
    backoff delays(options_);
    for (;;) {
        if (to_fetch_.empty()) {
            fetch_work_.reset();
            co_await fetch_work_.wait();
            continue;
        }
        fetched how = fetched::later;
        try {
            auto fetching = fetch_first();
            how = co_await std::move(fetching);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): it is still the first
        }
        if (how == fetched::stopped) co_return;
        if (how == fetched::now) {
            delays.reset();
            continue;
        }
        auto pause = sleep_for(delays.next());
        auto slept = co_await as_result(pause);
        if (!slept) co_return;
    }
}

/// Fetches the first of `to_fetch_`, which it keeps until it is done with it.
task<bus_core::fetched> bus_core::fetch_first() {
    wanted_messages& next = to_fetch_.front();
    if (const auto wanted = unbegun_.extract(next.pattern)) {
        next.again = next.again || wanted.mapped();
    }
    if (!known_.contains(next.pattern)) {
        to_fetch_.pop_front();
        co_return fetched::now;
    }
    auto fetching = fetch_one(&next);
    const auto done = co_await std::move(fetching);
    if (!done && is_cancellation(done.error())) co_return fetched::stopped;
    if (!done) {
        log(log_level::warning,
            "topic bus: cannot fetch what was retained: " + done.error().message());
        wanted_messages again = next;
        const bool is_wanted = is_too_large(done.error()) ? std::exchange(again.page, 1U) > 1
                                                          : may_be_asked_again(done.error());
        if (is_wanted) {
            want_retained(again.pattern, again.again, again.page);
            to_fetch_.pop_front();
            co_return fetched::later;
        }
    }
    to_fetch_.pop_front();
    co_return fetched::now;
}

task<std::expected<void, error>> bus_core::fetch_one(const wanted_messages* w) {
    if (websocket::detail::is_wild(w->pattern)) co_return co_await scan(w);
    const std::uint64_t since = receiver_->mark();
    auto asking = commands_.command("HGET", retained_key_, w->pattern);
    auto said = co_await as_result(asking);
    if (!said) co_return std::unexpected(std::move(said).error());
    // A message that was retained meanwhile is in this reply, and also on its way by itself: that
    // one must come first, or it would be delivered twice. When the connection is lost, all is
    // fetched again.
    auto catching_up = catch_up();
    const bool is_up = co_await std::move(catching_up);
    if (is_up) restore(*w, w->pattern, said->text(), since);
    co_return std::expected<void, error>();
}

task<std::expected<void, error>> bus_core::scan(const wanted_messages* w) {
    const std::string glob = glob_of(w->pattern);
    std::string cursor = "0";
    do {
        const std::uint64_t since = receiver_->mark();
        auto asking = commands_.command("HSCAN", retained_key_, cursor, "MATCH", glob, "COUNT",
                                        std::to_string(w->page));
        auto said = co_await as_result(asking);
        if (!said) co_return std::unexpected(std::move(said).error());
        const auto parts = said->elements();
        if (parts.size() != 2) break;
        cursor = parts[0].text();
        auto catching_up = catch_up();
        const bool is_up = co_await std::move(catching_up);
        if (!is_up) break;
        const auto pairs = parts[1].elements();
        for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
            restore(*w, pairs[i].text(), pairs[i + 1].text(), since);
        }
    } while (cursor != "0");
    co_return std::expected<void, error>();
}

void bus_core::restore(const wanted_messages& w, std::string_view topic, std::string_view encoded,
                       std::uint64_t since) {
    const auto m = bus_message::parse(encoded);
    if (!m || !websocket::topic_matches(w.pattern, topic)) return;
    add(restored_);
    std::string_view pattern = w.pattern;
    if (w.again) pattern = {};
    // A message of this process is no news to it: the one that it has now came later, and may not
    // have reached Redis.
    if (m->from == self_) since = 0;
    receiver_->restore(pattern, topic, m->type, m->payload, since);
}

}  // namespace coracle::redis::detail
