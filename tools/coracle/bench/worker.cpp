#include "worker.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/ticker.hpp>

#include <sys/prctl.h>

#include <algorithm>
#include <chrono>

namespace coracle::tool::bench {

worker::worker(shared_run& run, const target& to, loop& home, schedule_limits limits)
    : run_(run), to_(to), home_(home), schedule_(limits), limits_(limits) {
    span_.from = time_point::max();
}

worker::~worker() = default;

task<> worker::work(time_point begin, duration step) {
    // The system may end a wait 50 us too late otherwise, to save wakeups.
    ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    names_ = std::make_unique<net::resolver>(home_);
    const auto all = [&](task_group& group) -> task<> {
        group_ = &group;
        for (const auto& l : lanes_) {
            lane* const one = l.get();
            const time_point start = begin + step * static_cast<std::int64_t>(one->index());
            const auto live = [one, start]() -> task<> {
                co_await sleep_until(start);
                co_await one->run();
            };
            group.spawn(live, "lane");
        }
        co_return;
    };
    const auto beside = [&](task_group& others) -> task<> {
        others.spawn([this] { return give_up_late_ones(); }, "timeouts");
        others.spawn([this] { return report_intervals(); }, "intervals");
        others.spawn([this] { return watch_processor(); }, "processor");
        auto lanes = with_task_group(all);
        static_cast<void>(co_await as_result(lanes));
        group_ = nullptr;
        others.cancel();
    };
    auto everything = with_task_group(beside);
    static_cast<void>(co_await as_result(everything));
    measure_processor();
    note_unsent();
    // Stopped in the warm-up.
    if (now() < span_.from) counts_.bytes_in = counts_.bytes_out = 0;
    flush(interval_);
    names_.reset();
}

void worker::go(const measured_span& span) {
    span_ = span;
    limits_.begin += span.begin - time_point();
    limits_.end = span.end;
    limits_.counted_from = span.from;
    schedule_ = bench::schedule(limits_);
    gate_.set();
}

void worker::stop() noexcept {
    stopped_ = true;
    span_.end = std::min(span_.end, now());
    if (group_ != nullptr) group_->cancel();
}

/// Looks at all lanes now and then: cheaper than a timer for each request.
task<> worker::give_up_late_ones() {
    constexpr duration shortest = std::chrono::milliseconds(1);
    constexpr duration longest = std::chrono::milliseconds(250);
    const duration limit = to_.plan().timeout;
    ticker ticks = every(std::clamp(limit / 10, shortest, longest));
    for (;;) {
        co_await ticks.next();
        for (const auto& l : lanes_) l->give_up_if_late(home_.now(), limit);
    }
}

task<> worker::report_intervals() {
    co_await gate_.wait();
    ticker ticks(run_.interval_length(), span_.from);
    for (;;) {
        const std::uint64_t passed = co_await ticks.next();
        flush(interval_);
        interval_ += passed;
    }
}

void worker::flush(std::uint64_t interval) {
    run_.add(interval, counts_);
    counts_.clear();
}

task<> worker::watch_processor() {
    co_await gate_.wait();
    co_await sleep_until(span_.from);
    processor_before_ = home_.statistics().processor_time;
    processor_since_ = now();
    if (to_.plan().warm_up > duration::zero()) counts_.bytes_in = counts_.bytes_out = 0;
    co_await sleep_until(span_.end);
    measure_processor();
}

/// The share of the span until now, once.
void worker::measure_processor() noexcept {
    const duration passed = now() - processor_since_;
    if (processor_since_ == time_point::max() || passed <= duration::zero()) return;
    const duration used = home_.statistics().processor_time - processor_before_;
    busy_ = std::chrono::duration<double>(used) / std::chrono::duration<double>(passed);
    processor_since_ = time_point::max();
}

/// Counts the requests that are left of a run of so many, when no lane can connect any more.
void worker::note_given_up() {
    if (stopped_ || to_.plan().requests == 0) return;
    for (std::uint64_t i = schedule_.left(); i != 0; --i) {
        counts_.add_failure(failure_kind::connect);
    }
}

/// Requests that no connection was free for have waited, too: without them a server that stands
/// still would look as good as one that is quick until then.
void worker::note_unsent() {
    if (!gate_.is_set()) return;
    if (!schedule_.is_open()) return note_given_up();
    const time_point end = std::min(span_.end, now());
    const std::uint64_t n = schedule_.overdue(end);
    const std::uint64_t first = schedule_.first_overdue();
    for (std::uint64_t i = first; i != first + n; ++i) {
        const time_point due = schedule_.due_of(i);
        ++counts_.unsent;
        counts_.latency.record(
            static_cast<std::uint64_t>(std::max<std::int64_t>((end - due).count(), 0)));
    }
}

}  // namespace coracle::tool::bench
