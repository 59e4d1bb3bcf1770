#pragma once

#include "figures/schedule.hpp"
#include "lane.hpp"
#include "shared_run.hpp"

#include <coracle/net/resolver.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/task_group.hpp>

#include <memory>
#include <vector>

namespace coracle::tool::bench {

/// The span of a run that counts, on the clock of all loops.
struct measured_span {
    time_point begin{};  ///< requests are made from here on, unless they were before
    time_point from{};   ///< and count from here on
    time_point end = time_point::max();
};

/// A part of the lanes of a run, on one loop.
class worker {
public:
    /// `share` of the rate and of the requests are this one's.
    worker(shared_run& run, const target& to, loop& home, schedule_limits limits);
    ~worker();
    worker(const worker&) = delete;
    worker& operator=(const worker&) = delete;

    void add_lane(std::unique_ptr<lane> l) { lanes_.push_back(std::move(l)); }
    /// Runs all lanes to their end. `start` is when the n-th of all lanes of the run opens its
    /// connection: begin + n * step.
    task<> work(time_point begin, duration step);
    /// Lets the requests begin. On the loop.
    void go(const measured_span& span);
    /// Ends it: nothing is begun any more, and what is under way is given up. On the loop.
    void stop() noexcept;

    // For lanes.

    shared_run& run() noexcept { return run_; }
    const target& to() const noexcept { return to_; }
    loop& home() noexcept { return home_; }
    net::resolver& names() noexcept { return *names_; }
    class schedule& schedule() noexcept { return schedule_; }
    counts& figures() noexcept { return counts_; }
    event& gate() noexcept { return gate_; }
    const measured_span& span() const noexcept { return span_; }
    time_point now() noexcept { return home_.backend().now(); }
    bool counts_from(time_point begun) const noexcept { return begun >= span_.from; }
    bool is_over(time_point now) const noexcept {
        return stopped_ || now >= span_.end || schedule_.is_used_up();
    }
    void note_last_end(time_point t) noexcept { last_end_ = t; }

    // When it has ended.

    /// When the last request ended, well or not.
    time_point last_end() const noexcept { return last_end_; }
    /// The share of the measured time in which the loop was busy.
    double busy() const noexcept { return busy_; }

private:
    task<> give_up_late_ones();
    task<> report_intervals();
    task<> watch_processor();
    void flush(std::uint64_t interval);
    void note_unsent();
    void note_given_up();
    void measure_processor() noexcept;

    shared_run& run_;
    const target& to_;
    loop& home_;
    class schedule schedule_;
    schedule_limits limits_;
    std::unique_ptr<net::resolver> names_;
    std::vector<std::unique_ptr<lane>> lanes_;
    counts counts_;
    event gate_;
    measured_span span_;
    std::uint64_t interval_ = 0;
    duration processor_before_{};
    time_point processor_since_ = time_point::max();
    time_point last_end_{};
    double busy_ = 0;
    task_group* group_ = nullptr;
    bool stopped_ = false;
};

}  // namespace coracle::tool::bench
