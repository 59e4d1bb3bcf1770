#include "bench_report.hpp"
#include "figures/span_text.hpp"
#include "figures/svg_plot.hpp"

#include <coracle/base/html.hpp>
#include <coracle/base/version.hpp>

#include <cmath>
#include <limits>

namespace coracle::tool::bench {
namespace {

constexpr const char* style =
    R"(:root{color-scheme:light dark;--back:#fff;--card:#f6f7f9;--text:#1b1f24;--quiet:#5a6472;
--line:#dfe3e8;--first:#1668c7;--second:#b4620c;--third:#b3261e;--warn:#fff4d6}
@media (prefers-color-scheme:dark){:root{--back:#14171b;--card:#1d2228;--text:#e6e9ed;--quiet:#9aa5b1;
--line:#343b44;--first:#6cb0ff;--second:#f0a64a;--third:#ff8a80;--warn:#3a3013}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1rem;max-width:64rem;background:var(--back);color:var(--text);
font:16px/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.3rem;margin:0}h2{font-size:1rem;margin:0 0 .4rem}
p{margin:.2rem 0 1rem;color:var(--quiet)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.6rem;margin:1rem 0}
.tiles div,section{background:var(--card);border-radius:.5rem;padding:.7rem .9rem}
.tiles b{display:block;font-size:1.35rem}.tiles span{color:var(--quiet);font-size:.85rem}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:.8rem}
table{border-collapse:collapse;width:100%}
td,th{padding:.15rem 0;text-align:left;font-weight:400;border-top:1px solid var(--line)}
tr:first-child>*{border-top:0}td{text-align:right;font-variant-numeric:tabular-nums}
.warning{background:var(--warn);border-radius:.5rem;padding:.6rem .9rem;color:var(--text);margin:.6rem 0}
)";

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::string tile(const std::string& value, const std::string& name) {
    return "<div><b>" + html_escape(value) + "</b><span>" + html_escape(name) + "</span></div>";
}

std::string row(const std::string& name, const std::string& value) {
    return "<tr><th>" + html_escape(name) + "</th><td>" + html_escape(value) + "</td></tr>";
}

std::string card(const std::string& title, const std::string& content) {
    return "<section><h2>" + html_escape(title) + "</h2>" + content + "</section>";
}

double milliseconds(std::uint64_t nanoseconds) noexcept {
    return static_cast<double>(nanoseconds) / 1e6;
}

/// Latency over the share of the requests; the distance from 100% is logarithmic, since it is the
/// last few that are of interest.
plot percentiles_plot(const histogram& h) {
    plot p;
    p.title = "Latency by percentile";
    p.x_title = "share of the responses";
    p.y_title = "ms";
    const double most = std::max(1.0, std::log10(static_cast<double>(h.count())));
    p.x_to = std::min(most, 6.0);
    plot_series line{.name = "latency", .points = {}};
    constexpr double step = 0.02;
    for (double x = 0; x <= p.x_to; x += step) {
        line.points.push_back({x, milliseconds(h.percentile(1 - std::pow(10, -x)))});
    }
    p.series.push_back(std::move(line));
    const plot_tick ticks[] = {{0, "0"},     {0.30103, "50%"}, {1, "90%"},     {2, "99%"},
                               {3, "99.9%"}, {4, "99.99%"},    {5, "99.999%"}, {6, "99.9999%"}};
    for (const plot_tick& t : ticks) {
        if (t.at <= p.x_to) p.x_ticks.push_back(t);
    }
    return p;
}

/// Calls `f(seconds, length in seconds, interval)` for the intervals of all runs, one after the
/// other, and `f(seconds, 0, {})` between two runs.
template <class F>
double each_interval(const bench_report& report, F f) {
    double begin = 0;
    for (const auto& run : report.runs) {
        const double length = std::chrono::duration<double>(run->line.length()).count();
        double at = begin;
        for (const interval& i : run->line.intervals()) {
            f(at + length / 2, length, i);
            at += length;
        }
        f(at, 0.0, interval());
        begin = at;
    }
    return begin;
}

void set_time_axis(plot& p, double seconds) {
    p.x_title = "seconds";
    p.x_to = seconds;
    p.x_ticks = even_ticks(0, seconds, 6);
}

plot latency_plot(const bench_report& report) {
    plot p;
    p.title = "Latency over time";
    p.y_title = "ms";
    constexpr named_share lines[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
    for (const named_share& l : lines) p.series.push_back({.name = l.name, .points = {}});
    const double seconds = each_interval(report, [&](double at, double, const interval& i) {
        for (std::size_t n = 0; n != p.series.size(); ++n) {
            const double y =
                i.latency.empty() ? nan : milliseconds(percentile_of(i.latency, lines[n].share));
            p.series[n].points.push_back({at, y});
        }
    });
    set_time_axis(p, seconds);
    return p;
}

plot throughput_plot(const bench_report& report) {
    plot p;
    p.title = "Throughput over time";
    p.y_title = "per second";
    p.series.push_back({.name = "responses", .points = {}});
    const bool errors = report.total.total.failed() != 0;
    if (errors) {
        p.series.push_back({.name = "", .points = {}});
        p.series.push_back({.name = "errors", .points = {}});
    }
    const double seconds = each_interval(report, [&](double at, double length, const interval& i) {
        const auto rate = [&](std::uint64_t n) {
            return length > 0 ? static_cast<double>(n) / length : nan;
        };
        p.series[0].points.push_back({at, rate(i.responses)});
        if (errors) p.series[2].points.push_back({at, rate(i.failures)});
    });
    set_time_axis(p, seconds);
    return p;
}

std::string load_table(const bench_report& report) {
    const load_plan& p = report.settings.load;
    std::string rows = row("protocol", name_of(p.protocol)) + row("model", model_text(p)) +
                       row("connections", count_text(p.connections));
    if (p.streams > 1) rows += row("streams on each", count_text(p.streams));
    rows += p.requests != 0 ? row("requests", count_text(p.requests))
                            : row("duration", span_text(p.length));
    if (report.runs.size() > 1) rows += row("runs", count_text(report.runs.size()));
    if (p.warm_up > duration::zero()) rows += row("warm-up", span_text(p.warm_up));
    if (p.ramp > duration::zero()) rows += row("ramp", span_text(p.ramp));
    rows += row("loops of the generator", count_text(p.loops));
    rows += row("busiest loop", number_text(report.total.busiest_loop * 100) + '%');
    rows += row("CPU of the generator", number_text(cost_of(report.total)) + " us a response");
    return "<table>" + rows + "</table>";
}

std::string latency_table(const histogram& h) {
    std::string rows = row("min", latency_text(h.min()));
    for (const named_share& p : shown_percentiles) {
        if (static_cast<double>(h.count()) * (1 - p.share) < 0.999) break;
        rows += row(p.name, latency_text(h.percentile(p.share)));
    }
    rows += row("max", latency_text(h.max()));
    rows += row("mean", latency_text(static_cast<std::uint64_t>(h.mean())));
    return "<table>" + rows + "</table>";
}

std::string outcome_table(const counts& c) {
    constexpr const char* names[] = {"other status", "2xx", "3xx", "4xx", "5xx"};
    std::string rows;
    for (std::size_t i = 0; i != c.statuses.size(); ++i) {
        if (c.statuses[i] != 0) rows += row(names[i], count_text(c.statuses[i]));
    }
    for (std::size_t i = 0; i != failure_kinds; ++i) {
        const std::string name(name_of(static_cast<failure_kind>(i)));
        if (c.failures[i] != 0) rows += row("error: " + name, count_text(c.failures[i]));
    }
    if (c.unsent != 0) rows += row("due and never sent", count_text(c.unsent));
    rows +=
        row("bytes received", count_text(c.bytes_in)) + row("bytes sent", count_text(c.bytes_out));
    return "<table>" + rows + "</table>";
}

std::string tiles_of(const run_figures& f) {
    const histogram& h = f.total.latency;
    const std::uint64_t errors = f.total.failed() + f.total.unsent;
    return "<div class=tiles>" +
           tile(count_text(static_cast<std::uint64_t>(std::llround(rate_of(f)))),
                "responses a second") +
           tile(latency_text(h.percentile(0.5)), "median latency") +
           tile(latency_text(h.percentile(0.99)), "p99") + tile(latency_text(h.max()), "max") +
           tile(count_text(errors), "errors") + "</div>";
}

}  // namespace

std::string html_of(const bench_report& report) {
    const run_figures& f = report.total;
    const std::string url(report.settings.load.what.origin.redacted());
    std::string out =
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>"
        "<meta name=viewport content=\"width=device-width,initial-scale=1\">"
        "<title>Load of " +
        html_escape(url) + "</title><style>" + style + plot_style() +
        "</style></head><body><h1>Load of " + html_escape(url) + "</h1><p>" +
        html_escape(model_text(report.settings.load)) + ", " + count_text(f.total.responses()) +
        " responses in " + html_escape(span_text(f.measured)) + "</p>";
    for (const std::string& w : report.warnings) {
        out += "<div class=warning>" + html_escape(w) + "</div>";
    }
    out += tiles_of(f) + "<div class=cards>";
    for (const plot& p :
         {percentiles_plot(f.total.latency), latency_plot(report), throughput_plot(report)}) {
        out += card(p.title, p.svg());
    }
    out += card("Latency", latency_table(f.total.latency)) +
           card("Responses", outcome_table(f.total)) + card("Load", load_table(report));
    return out + "</div><p>coracle bench " + html_escape(coracle::version()) +
           "</p></body></html>\n";
}

}  // namespace coracle::tool::bench
