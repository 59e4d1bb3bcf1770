#include "load_run.hpp"

#include "h1_lane.hpp"
#include "h2_lane.hpp"
#include "live_display.hpp"
#include "settings.hpp"
#include "worker.hpp"
#include "ws_lane.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/ticker.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <vector>

namespace coracle::tool::bench {
namespace {

duration of(const timeval& t) noexcept {
    return std::chrono::seconds(t.tv_sec) + std::chrono::microseconds(t.tv_usec);
}

struct processor_use {
    duration user{};
    duration system{};
};

processor_use used_so_far() noexcept {
    rusage u{};
    ::getrusage(RUSAGE_SELF, &u);
    return {of(u.ru_utime), of(u.ru_stime)};
}

/// A run on its loops: sets it up, lets it begin, ends it.
class conductor {
public:
    conductor(const load_plan& plan, live_display& display, signal_set& signals, logger& log);

    std::unique_ptr<run_figures> run();

private:
    void add_workers();
    std::unique_ptr<lane> make_lane(worker& w, unsigned index);
    task<> conduct();
    task<> wait_for_connections();
    task<> watch_signals();
    task<> show();
    void stop_all();
    std::unique_ptr<run_figures> figures();

    const load_plan& plan_;
    live_display& display_;
    signal_set& signals_;
    target to_;
    runtime runtime_;
    shared_run shared_;
    std::vector<std::unique_ptr<worker>> workers_;
    std::shared_ptr<http::client> client_;       ///< of all WebSockets
    std::shared_ptr<h2_connection> connection_;  ///< of the lanes that were made last
    measured_span span_;
    processor_use before_;
    processor_use after_;
    time_point stopped_at_ = time_point::max();
    bool begun_ = false;
    bool interrupted_ = false;
};

runtime_options options_for(const load_plan& plan, logger& log) {
    runtime_options o;
    o.loops = plan.loops;
    o.log = &log;
    return o;
}

/// About 40 intervals, none shorter than what can be seen.
duration interval_for(const load_plan& plan) {
    constexpr duration shortest = std::chrono::milliseconds(50);
    constexpr duration longest = std::chrono::seconds(1);
    if (plan.requests != 0 && !plan.is_open()) return std::chrono::milliseconds(100);
    const duration length = plan.requests == 0
                                ? plan.length
                                : duration(static_cast<std::int64_t>(
                                      static_cast<double>(plan.requests) / plan.rate * 1e9));
    return std::clamp(length / 40, shortest, longest);
}

conductor::conductor(const load_plan& plan, live_display& display, signal_set& signals, logger& log)
    : plan_(plan), display_(display), signals_(signals), to_(plan),
      runtime_(options_for(plan, log)), shared_(plan, interval_for(plan)) {
    add_workers();
}

std::unique_ptr<lane> conductor::make_lane(worker& w, unsigned index) {
    if (plan_.protocol == load_protocol::websocket) {
        return std::make_unique<ws_lane>(w, index, client_);
    }
    if (plan_.protocol == load_protocol::http_1_1) return std::make_unique<h1_lane>(w, index);
    if (index % plan_.streams == 0) connection_ = std::make_shared<h2_connection>(plan_);
    return std::make_unique<h2_lane>(w, index, connection_);
}

/// Deals out whole connections, one after the other; each loop has the share of the rate and of the
/// requests that its lanes are of all lanes.
void conductor::add_workers() {
    if (plan_.protocol == load_protocol::websocket) {
        http::client_options o = plan_.client;
        o.http_version = http::version_choice::http_1_1;
        http::pool_options p;
        p.connections = p.connections_per_host = plan_.connections;
        client_ = std::make_shared<http::client>(std::move(o), std::move(p));
    }
    std::uint64_t lanes_before = 0;
    std::uint64_t requests_before = 0;
    for (unsigned l = 0; l != plan_.loops; ++l) {
        const unsigned connections =
            plan_.connections / plan_.loops + (l < plan_.connections % plan_.loops ? 1 : 0);
        const std::uint64_t lanes_until = lanes_before + std::uint64_t{connections} * plan_.streams;
        schedule_limits limits;
        limits.rate = plan_.rate * static_cast<double>(lanes_until - lanes_before) / plan_.lanes();
        if (plan_.requests != 0) {
            const auto until =
                static_cast<std::uint64_t>(static_cast<double>(plan_.requests) *
                                           static_cast<double>(lanes_until) / plan_.lanes());
            const std::uint64_t mine = l + 1 == plan_.loops ? plan_.requests : until;
            limits.requests = mine - requests_before;
            requests_before = mine;
        }
        if (plan_.is_open()) {
            // The loops take turns.
            limits.begin += duration(static_cast<std::int64_t>(l / plan_.rate * 1e9));
        }
        workers_.push_back(std::make_unique<worker>(shared_, to_, runtime_.at(l), limits));
        for (std::uint64_t i = lanes_before; i != lanes_until; ++i) {
            workers_.back()->add_lane(make_lane(*workers_.back(), static_cast<unsigned>(i)));
        }
        lanes_before = lanes_until;
    }
}

std::unique_ptr<run_figures> conductor::run() {
    const time_point begin = runtime_.at(0).backend().now();
    const duration step = plan_.ramp / plan_.lanes();
    std::atomic<unsigned> others{plan_.loops - 1};
    runtime_.run([&](loop& l) -> task<> {
        const bool first = l.index() == 0;
        if (first) spawn([this] { return conduct(); }, "conductor");
        co_await workers_[l.index()]->work(begin, step);
        if (!first) others.fetch_sub(1, std::memory_order_release);
        // The first one has the display and the signals.
        while (first && others.load(std::memory_order_acquire) != 0) {
            co_await sleep_for(std::chrono::milliseconds(1));
        }
    });
    return figures();
}

task<> conductor::wait_for_connections() {
    // Each of them is limited by the time that connecting, and a first response, may take.
    ticker ticks = every(std::chrono::milliseconds(1));
    while (shared_.ready() != plan_.lanes()) co_await ticks.next();
}

void conductor::stop_all() {
    stopped_at_ = std::min(stopped_at_, runtime_.at(0).backend().now());
    for (const auto& w : workers_) {
        worker* const one = w.get();
        one->home().post([one] { one->stop(); });
    }
}

task<> conductor::watch_signals() {
    co_await signals_.next();
    interrupted_ = true;
    stop_all();
}

task<> conductor::show() {
    ticker ticks = every(live_display::period);
    for (;;) {
        co_await ticks.next();
        display_.draw(shared_, span_, loop::current()->now());
    }
}

task<> conductor::conduct() {
    spawn([this] { return watch_signals(); }, "signals");
    spawn([this] { return show(); }, "display");
    co_await wait_for_connections();
    if (shared_.connected() == 0) {
        stop_all();
        co_return;
    }
    // Loops other than this one hear of it a little later.
    constexpr duration notice = std::chrono::milliseconds(5);
    span_.begin = loop::current()->backend().now() + notice;
    span_.from = span_.begin + plan_.warm_up;
    begun_ = true;
    if (plan_.requests == 0) span_.end = span_.from + plan_.length;
    if (plan_.requests != 0 && plan_.is_open()) {
        const double seconds = static_cast<double>(plan_.requests + plan_.loops) / plan_.rate;
        span_.end = span_.from + duration(static_cast<std::int64_t>(seconds * 1e9));
    }
    for (const auto& w : workers_) {
        worker* const one = w.get();
        one->home().post([one, span = span_] { one->go(span); });
    }
    co_await sleep_until(span_.from);
    before_ = used_so_far();
    co_await sleep_until(span_.end);
    after_ = used_so_far();
}

std::unique_ptr<run_figures> conductor::figures() {
    auto f = std::make_unique<run_figures>();
    f->interrupted = interrupted_;
    f->reason = shared_.reason();
    shared_.look([&](const counts& total, const timeline& line) {
        f->total.merge(total);
        f->line = line;
    });
    if (!begun_) return f;
    time_point last = span_.from;
    for (const auto& w : workers_) {
        last = std::max(last, w->last_end());
        f->busiest_loop = std::max(f->busiest_loop, w->busy());
    }
    if (after_.user + after_.system == duration::zero()) after_ = used_so_far();
    f->user_cpu = after_.user - before_.user;
    f->system_cpu = after_.system - before_.system;
    const bool by_time = plan_.requests == 0;
    const time_point end = by_time ? std::min(span_.end, stopped_at_) : last;
    f->measured = std::max(end - span_.from, duration::zero());
    // Requests may be over before the first interval is.
    f->line.cut(by_time ? f->measured : std::max(f->measured, interval_for(plan_)));
    return f;
}

}  // namespace

const char* name_of(load_protocol p) noexcept {
    switch (p) {
        case load_protocol::http_2: return "HTTP/2";
        case load_protocol::websocket: return "WebSocket";
        case load_protocol::http_1_1: break;
    }
    return "HTTP/1.1";
}

std::unique_ptr<run_figures> run_load(const load_plan& plan, live_display& display,
                                      signal_set& signals, logger& log) {
    // Not on the stack: the histograms are large.
    const auto one = std::make_unique<conductor>(plan, display, signals, log);
    return one->run();
}

}  // namespace coracle::tool::bench
