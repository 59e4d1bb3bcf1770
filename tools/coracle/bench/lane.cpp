#include "lane.hpp"

#include "explanation.hpp"
#include "worker.hpp"

#include <coracle/base/error.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/this_task.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace coracle::tool::bench {
namespace {

constexpr duration first_pause = std::chrono::milliseconds(10);
constexpr duration longest_pause = std::chrono::seconds(1);
/// Attempts to connect, one after the other, after which a run of so many requests gives up: some
/// three seconds.
constexpr unsigned most_refusals = 10;

failure_kind kind_of(const error& e) noexcept {
    const bool by_parser = std::string_view(e.code().category().name()) == "http/1";
    if (by_parser || e == errc::protocol_error || e == errc::limit_exceeded) {
        return failure_kind::malformed;
    }
    switch (e.phase()) {
        case phase::resolve:
        case phase::connect:
        case phase::proxy: return failure_kind::connect;
        case phase::tls: return failure_kind::tls;
        default: return failure_kind::lost;
    }
}

std::uint64_t between(time_point a, time_point b) noexcept {
    return static_cast<std::uint64_t>(std::max<std::int64_t>((b - a).count(), 0));
}

}  // namespace

task<> lane::run() {
    for (;;) {
        const bool over = worker_.is_over(worker_.now()) && !carried_;
        if (over) co_return;
        cancel_source stop;
        running_ = &stop;
        refused_ = false;
        const auto make = [this] { return session(); };
        auto running = with_cancel(stop, make);
        static_cast<void>(co_await as_result(running));
        running_ = nullptr;
        leave();
        if (refused_ && worker_.is_over(worker_.now())) give_up_carried();
        const bool ended = co_await this_task::stopped();
        if (ended) co_return;
        if (!refused_) continue;
        const load_plan& plan = worker_.to().plan();
        const bool must_end = plan.requests != 0 && !plan.is_open() && worker_.gate().is_set();
        if (must_end && ++refusals_ >= most_refusals) co_return;
        co_await back_off();
    }
}

/// For a request that was kept for a connection which nobody makes any more.
void lane::give_up_carried() noexcept {
    const auto due = std::exchange(carried_, std::nullopt);
    if (due && worker_.counts_from(*due)) worker_.figures().add_failure(failure_kind::connect);
}

task<> lane::back_off() {
    pause_ = std::clamp(pause_ * 2, first_pause, longest_pause);
    co_await sleep_until(std::min(worker_.now() + pause_, worker_.span().end));
}

void lane::give_up_if_late(time_point now, duration limit) noexcept {
    if (!busy_ || now - sent_ <= limit) return;
    static_cast<void>(fail(failure_kind::timeout));
    if (running_ != nullptr) running_->cancel();
}

task<> lane::enter() {
    if (!entered_) worker_.run().lane_is_ready(true);
    entered_ = true;
    const load_plan& plan = worker_.to().plan();
    const bool is_closed = !plan.is_open() && plan.requests == 0;
    // Requests before the span are the warm-up, if there is to be one.
    if (is_closed && plan.warm_up > duration::zero()) co_return;
    co_await worker_.gate().wait();
    co_await sleep_until(worker_.span().begin);
}

void lane::note_no_connection(const error& e, std::string reason) {
    if (e == std::errc::operation_canceled) return;
    refused_ = true;
    if (!entered_) worker_.run().lane_is_ready(false);
    entered_ = true;
    worker_.run().note_reason(reason.empty() ? explain(e) : std::move(reason));
    const time_point now = worker_.now();
    if (!worker_.counts_from(now) || worker_.is_over(now)) return;
    worker_.note_last_end(now);
    const failure_kind kind = kind_of(e);
    worker_.figures().add_failure(kind == failure_kind::tls ? kind : failure_kind::connect);
    // It stands for one of the requests that are to be made: else they would take for ever.
    const load_plan& plan = worker_.to().plan();
    if (!plan.is_open() && plan.requests != 0) static_cast<void>(take());
}

std::optional<time_point> lane::take() noexcept {
    if (carried_) return std::exchange(carried_, std::nullopt);
    if (last_ == time_point()) last_ = worker_.now();
    if (worker_.is_over(last_)) return {};
    return worker_.schedule().take(last_);
}

bool lane::is_early(time_point due) noexcept {
    slept_ = due > last_ && due > worker_.now();
    return slept_;
}

const prepared_request& lane::choose() noexcept {
    const auto& all = worker_.to().requests();
    if (all.size() == 1) return all.front();
    const scenario& s = worker_.to().plan().what;
    if (!s.in_order) return all[s.draw(worker_.home().random())];
    return all[next_++ % all.size()];
}

void lane::begin(time_point due) noexcept {
    due_ = due;
    sent_ = due == last_ ? due : worker_.now();
    busy_ = true;
    if (slept_ && worker_.counts_from(due)) {
        worker_.figures().lateness.record(between(due, sent_));
    }
    slept_ = false;
}

void lane::finish(unsigned status) noexcept {
    last_ = worker_.now();
    busy_ = false;
    pause_ = {};
    refusals_ = 0;
    if (!worker_.counts_from(due_)) return;
    worker_.figures().add_response(status, between(due_, last_));
    worker_.note_last_end(last_);
}

/// Returns true if it counts.
bool lane::fail(failure_kind kind) noexcept {
    if (!busy_) return false;
    busy_ = false;
    last_ = time_point();
    const time_point now = worker_.now();
    // A request of the warm-up that fails after it counts: its connection is as bad then.
    if (!worker_.counts_from(now)) return false;
    worker_.figures().add_failure(kind);
    worker_.note_last_end(now);
    if (kind == failure_kind::timeout) {
        const time_point waits_since = std::max(due_, worker_.span().from);
        worker_.figures().latency.record(between(waits_since, now));
    }
    return true;
}

void lane::fail(failure_kind kind, std::string_view why) noexcept {
    const bool counts = fail(kind);
    if (counts && !gave_reason_) give_reason(std::string(why));
}

void lane::fail(const error& e) noexcept {
    // It has taken too long, which is noted already, or the run has been ended.
    if (e == std::errc::operation_canceled) {
        busy_ = false;
        last_ = time_point();
        return;
    }
    const failure_kind kind = kind_of(e);
    const bool counts = fail(kind);
    // A stream of HTTP/2, whose client connects again by itself.
    const bool is_refused = kind == failure_kind::connect || kind == failure_kind::tls;
    if (is_refused) refused_ = true;
    if (is_refused || (counts && !gave_reason_)) give_reason(explain(e));
}

void lane::give_reason(const std::string& why) {
    gave_reason_ = true;
    worker_.run().note_reason(why);
}

}  // namespace coracle::tool::bench
