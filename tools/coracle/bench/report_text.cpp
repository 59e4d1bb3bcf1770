#include "bench_report.hpp"
#include "figures/span_text.hpp"
#include "progress_display.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace coracle::tool::bench {
namespace {

std::string row(std::string_view name, const std::string& value) {
    constexpr std::size_t width = 14;
    std::string text(name);
    text.resize(std::max(width, text.size() + 1), ' ');
    return text + value + '\n';
}

std::string plural(std::uint64_t n, const char* what) {
    return count_text(n) + ' ' + what + (n == 1 ? "" : "s");
}

std::string load_text(const bench_settings& s) {
    const load_plan& p = s.load;
    std::string text =
        std::string(name_of(p.protocol)) + ", " + plural(p.connections, "connection");
    if (p.streams > 1) text += " of " + plural(p.streams, "stream");
    text += " on " + plural(p.loops, "loop") + ", " + model_text(p) + ", ";
    text += p.requests != 0 ? plural(p.requests, "request") : span_text(p.length);
    if (s.runs > 1) text += ", " + plural(s.runs, "run");
    return text;
}

std::string statuses_text(const counts& c) {
    constexpr std::string_view names[] = {"other", "2xx", "3xx", "4xx", "5xx"};
    std::string text;
    for (std::size_t i = 0; i != c.statuses.size(); ++i) {
        if (c.statuses[i] == 0) continue;
        if (!text.empty()) text += "  ";
        text.append(names[i]).append(" ").append(count_text(c.statuses[i]));
    }
    return text.empty() ? "none" : text;
}

std::string errors_text(const run_figures& f) {
    std::string text;
    for (std::size_t i = 0; i != failure_kinds; ++i) {
        const auto kind = static_cast<failure_kind>(i);
        if (f.total.failed(kind) == 0) continue;
        if (!text.empty()) text += "  ";
        text.append(name_of(kind)).append(" ").append(count_text(f.total.failed(kind)));
    }
    if (f.total.unsent != 0) {
        text += std::string(text.empty() ? "" : "  ") + "unsent " + count_text(f.total.unsent);
    }
    if (text.empty()) return "none";
    if (!f.reason.empty()) text += "  (" + printable(f.reason, 200) + ')';
    return text;
}

std::string bytes_text(const run_figures& f) {
    const double seconds = std::chrono::duration<double>(f.measured).count();
    const auto in = static_cast<double>(f.total.bytes_in);
    std::string text = size_text(in) + " received";
    if (seconds > 0) text += " (" + size_text(in / seconds) + "/s)";
    return text + ", " + size_text(static_cast<double>(f.total.bytes_out)) + " sent";
}

std::string latency_rows(const counts& c) {
    const histogram& h = c.latency;
    if (h.count() == 0) return {};
    std::string text = row(
        "Latency", "mean " + latency_text(static_cast<std::uint64_t>(h.mean())) + ", deviation " +
                       latency_text(static_cast<std::uint64_t>(h.deviation())) + ", min " +
                       latency_text(h.min()) + ", max " + latency_text(h.max()));
    for (const named_share& p : shown_percentiles) {
        // Fewer than one value above it: it is the maximum.
        if (static_cast<double>(h.count()) * (1 - p.share) < 0.999) break;
        text += row(std::string("  ") + p.name, latency_text(h.percentile(p.share)));
    }
    return text;
}

std::string generator_text(const run_figures& f) {
    std::string text = number_text(cost_of(f)) + " us of CPU a response, busiest loop " +
                       number_text(f.busiest_loop * 100) + '%';
    if (f.total.lateness.count() != 0) {
        text += ", sent late by " + latency_text(f.total.lateness.percentile(0.99)) + " (p99)";
    }
    return text;
}

}  // namespace

std::string text_of(const bench_report& report) {
    const run_figures& f = report.total;
    const counts& c = f.total;
    const load_plan& plan = report.settings.load;
    std::string text =
        printable(plan.what.origin.redacted()) + '\n' + load_text(report.settings) + "\n\n";
    const bool ws = plan.protocol == load_protocol::websocket;
    text += row(ws ? "Round trips" : "Responses",
                count_text(c.responses()) + " in " +
                    number_text(std::chrono::duration<double>(f.measured).count()) + " s, " +
                    count_text(static_cast<std::uint64_t>(std::llround(rate_of(f)))) + "/s");
    if (!ws) text += row("Status", statuses_text(c));
    text += row("Errors", errors_text(f));
    text += row("Bytes", bytes_text(f));
    text += latency_rows(c);
    text += row("Generator", generator_text(f));
    for (const std::string& w : report.warnings) text += "\nwarning: " + w + '\n';
    return text;
}

}  // namespace coracle::tool::bench
