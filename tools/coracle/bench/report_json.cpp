#include "bench_report.hpp"
#include "figures/json_figures.hpp"
#include "json_object.hpp"

#include <coracle/base/version.hpp>

#include <cmath>

namespace coracle::tool::bench {
namespace {

/// The version of the layout: a reader refuses others. Members may be added without a new one.
constexpr std::uint64_t schema = 1;

double seconds(duration d) noexcept {
    return std::chrono::duration<double>(d).count();
}

std::string json_of_statuses(const counts& c) {
    constexpr const char* names[] = {"other", "2xx", "3xx", "4xx", "5xx"};
    json_object o;
    for (std::size_t i = 0; i != c.statuses.size(); ++i) o.add(names[i], c.statuses[i]);
    return std::move(o).done();
}

std::string json_of_errors(const counts& c) {
    json_object o;
    for (std::size_t i = 0; i != failure_kinds; ++i) {
        o.add(name_of(static_cast<failure_kind>(i)), c.failures[i]);
    }
    return std::move(o.add("unsent", c.unsent)).done();
}

std::string json_of_latency(const histogram& h) {
    json_object o;
    o.add("count", h.count());
    o.add_json("min", json_milliseconds(h.min()));
    o.add_json("mean", json_number(h.mean() / 1e6));
    o.add_json("deviation", json_number(h.deviation() / 1e6));
    for (const named_share& p : shown_percentiles) {
        o.add_json(p.name, json_milliseconds(h.percentile(p.share)));
    }
    return std::move(o.add_json("max", json_milliseconds(h.max()))).done();
}

std::string json_of_interval(const interval& i) {
    json_object o;
    o.add("responses", i.responses).add("errors", i.failures).add("bytes_in", i.bytes_in);
    if (i.latency.empty()) return std::move(o).done();
    for (const named_share& p : {named_share{"p50", 0.5}, named_share{"p90", 0.9},
                                 named_share{"p99", 0.99}, named_share{"max", 1}}) {
        o.add_json(p.name, json_milliseconds(percentile_of(i.latency, p.share)));
    }
    return std::move(o).done();
}

json_object json_of_figures(const run_figures& f) {
    json_object o;
    o.add_json("measured_s", json_number(seconds(f.measured)));
    o.add("responses", f.total.responses());
    o.add_json("responses_per_s", json_number(rate_of(f)));
    o.add_json("status", json_of_statuses(f.total));
    o.add_json("errors", json_of_errors(f.total));
    o.add("bytes_in", f.total.bytes_in).add("bytes_out", f.total.bytes_out);
    o.add("connections_opened", f.total.connections);
    o.add_json("generator", std::move(json_object()
                                          .add_json("user_s", json_number(seconds(f.user_cpu)))
                                          .add_json("system_s", json_number(seconds(f.system_cpu)))
                                          .add_json("us_per_response", json_number(cost_of(f)))
                                          .add_json("busiest_loop", json_number(f.busiest_loop)))
                                .done());
    o.add_json("latency_ms", json_of_latency(f.total.latency));
    if (f.total.lateness.count() != 0) {
        o.add_json("lateness_ms", json_of_latency(f.total.lateness));
    }
    return o;
}

std::string json_of_run(const run_figures& f) {
    json_object o = json_of_figures(f);
    o.add_json("interval_s", json_number(seconds(f.line.length())));
    o.add_json("intervals", json_array(f.line.intervals(), json_of_interval));
    return std::move(o).done();
}

std::string json_of_load(const load_plan& p) {
    json_object o;
    o.add("url", p.what.origin.redacted()).add("protocol", name_of(p.protocol));
    o.add("requests_to_choose_from", std::uint64_t{p.what.requests.size()});
    o.add("model", p.is_open() ? "open" : "closed");
    o.add_json("rate", p.is_open() ? json_number(p.rate) : "null");
    o.add("connections", std::uint64_t{p.connections}).add("streams", std::uint64_t{p.streams});
    o.add("loops", std::uint64_t{p.loops});
    o.add_json("duration_s", p.requests == 0 ? json_number(seconds(p.length)) : "null");
    o.add_json("requests", p.requests == 0 ? "null" : std::to_string(p.requests));
    o.add_json("warm_up_s", json_number(seconds(p.warm_up)));
    o.add_json("ramp_s", json_number(seconds(p.ramp)));
    o.add_json("timeout_s", json_number(seconds(p.timeout)));
    return std::move(o).done();
}

/// [["from", count], ...], in nanoseconds: each bucket reaches to 1/256 above where it begins.
std::string json_of_histogram(const histogram& h) {
    return json_array(h.filled(), [](const histogram_bucket& b) {
        return '[' + std::to_string(histogram::lowest_of(b.index)) + ',' + std::to_string(b.count) +
               ']';
    });
}

}  // namespace

std::string json_of(const bench_report& report) {
    json_object o;
    o.add("coracle_bench", schema).add("version", coracle::version());
    o.add_json("load", json_of_load(report.settings.load));
    o.add_flag("interrupted", report.total.interrupted);
    o.add_json("total", std::move(json_of_figures(report.total)).done());
    o.add_json("histogram_ns", json_of_histogram(report.total.total.latency));
    o.add_json("runs", json_array(report.runs, [](const auto& r) { return json_of_run(*r); }));
    o.add_json("warnings", json_array(report.warnings, [](const auto& w) { return json_text(w); }));
    return std::move(o).done() + '\n';
}

}  // namespace coracle::tool::bench
