#include "bench_report.hpp"

#include "figures/span_text.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::tool::bench {
namespace {

/// A loop that works for longer than this share of the time is what limits a run.
constexpr double full_loop = 0.9;

void warn_of_generator(bench_report& r) {
    const run_figures& t = r.total;
    if (t.busiest_loop > full_loop) {
        r.warnings.push_back(
            "the generator itself was the limit: one of its loops was busy for " +
            number_text(t.busiest_loop * 100) +
            "% of the time; give it more loops (--threads) or a machine of its own");
    }
    if (t.total.lateness.count() == 0 || t.total.latency.count() == 0) return;
    const std::uint64_t late = t.total.lateness.percentile(0.99);
    const std::uint64_t latency = t.total.latency.percentile(0.99);
    if (late > 200'000 && late * 10 > latency) {
        r.warnings.push_back("the generator sent late: 1% of the requests by " +
                             latency_text(late) +
                             " or more, which their latencies include; leave it more of its "
                             "processors");
    }
}

void warn_of_rate(bench_report& r) {
    const load_plan& plan = r.settings.load;
    const counts& c = r.total.total;
    if (!plan.is_open() || r.total.interrupted) return;
    if (c.unsent != 0) {
        r.warnings.push_back(
            count_text(c.unsent) +
            " requests were due and never sent, since no connection was free: they count in the "
            "latencies with the time that they had waited. The server is too slow for this rate, "
            "or --connections are too few");
    }
}

}  // namespace

double rate_of(const run_figures& f) noexcept {
    const double seconds = std::chrono::duration<double>(f.measured).count();
    return seconds > 0 ? static_cast<double>(f.total.responses()) / seconds : 0;
}

double cost_of(const run_figures& f) noexcept {
    const std::uint64_t n = f.total.responses();
    const double us = std::chrono::duration<double, std::micro>(f.user_cpu + f.system_cpu).count();
    return n == 0 ? 0 : us / static_cast<double>(n);
}

std::string model_text(const load_plan& plan) {
    if (!plan.is_open()) return "closed model";
    return "open model, " + number_text(plan.rate) + " requests/s";
}

void bench_report::conclude() {
    total.measured = {};
    for (const auto& r : runs) {
        total.total.merge(r->total);
        total.measured += r->measured;
        total.user_cpu += r->user_cpu;
        total.system_cpu += r->system_cpu;
        total.busiest_loop = std::max(total.busiest_loop, r->busiest_loop);
        total.interrupted = total.interrupted || r->interrupted;
        if (total.reason.empty()) total.reason = r->reason;
    }
    warn_of_generator(*this);
    warn_of_rate(*this);
    if (total.total.waited_in_vain() > total.total.unsent) {
        const std::uint64_t late = total.total.failed(failure_kind::timeout);
        warnings.push_back(count_text(late) + (late == 1 ? " request" : " requests") +
                           " timed out, and in the latencies with the time waited, which is less "
                           "than a response would have taken");
    }
}

}  // namespace coracle::tool::bench
