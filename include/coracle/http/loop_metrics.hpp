#pragma once

#include <coracle/http/server.hpp>
#include <coracle/metrics/registry.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <memory>
#include <vector>

namespace coracle::http {

struct loop_metrics_options {
    /// The time after which a loop looks how late it is. Default 100 ms.
    duration interval = std::chrono::milliseconds(100);
    /// A lateness that counts as a stall. Default 100 ms.
    duration stall = std::chrono::milliseconds(100);
};

/// Measures the loops of servers, each from its first response on:
///
/// - coracle_loop_turns_total{loop}, coracle_loop_waits_total{loop},
///   coracle_loop_events_total{loop}, coracle_loop_system_calls_total{loop}
/// - coracle_loop_tasks_total{loop}, by whose rate, divided by that of the turns, the mean length
/// of
///   the queue is seen; coracle_loop_ready_tasks{loop}, a gauge: its length in the last turn that
///   has ended
/// - coracle_loop_busy_seconds_total{loop}: processor time of its thread, by whose rate the load is
///   seen: near 1 it can take no more
/// - coracle_loop_lateness_seconds: a histogram of how late a timer fires, which is how long
///   everything on the loop has to wait for the turn
/// - coracle_loop_stalls_total: times that it was later than `stall`
///
///     http::loop_metrics loops(all);
///     options.observe(loops);
///
/// Must outlive the server and its runtime; its registry must outlive it. Thread-safe.
class loop_metrics {
public:
    explicit loop_metrics(metrics::registry& to, loop_metrics_options options = {});
    ~loop_metrics();
    loop_metrics(const loop_metrics&) = delete;
    loop_metrics& operator=(const loop_metrics&) = delete;

    /// For `server_options::observe`: begins to measure the loop of this thread, the first time.
    void observe(const access_record& record);

    class state;

private:
    std::shared_ptr<state> state_;
};

}  // namespace coracle::http
