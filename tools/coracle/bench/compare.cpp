#include "compare.hpp"

#include "figures/comparison.hpp"
#include "figures/span_text.hpp"
#include "input_file.hpp"
#include "progress_display.hpp"
#include "settings.hpp"
#include "standard_output.hpp"

#include <array>
#include <cmath>
#include <cstdio>

namespace coracle::tool::bench {
namespace {

constexpr std::size_t most_report_bytes = 64 * 1024 * 1024;
constexpr double confidence = 0.95;

json_value read_report(const std::string& path) {
    auto v = json_value::parse(content_of(path, most_report_bytes));
    if (!v) throw failure("'" + path + "' cannot be read: " + v.error());
    return *std::move(v);
}

const char* text_of(verdict v) {
    switch (v) {
        case verdict::better: return "better";
        case verdict::worse: return "WORSE";
        case verdict::same: return "no difference";
        case verdict::unknown: break;
    }
    return "too few values";
}

std::string percent_text(double ratio) {
    if (!std::isfinite(ratio)) return "-";
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%+.1f%%", (ratio - 1) * 100);
    return text.data();
}

std::string value_text(const compared_figure& f, double value) {
    if (f.unit == "/s") return count_text(static_cast<std::uint64_t>(std::llround(value))) + "/s";
    if (f.unit == "%") return number_text(value) + '%';
    return latency_text(static_cast<std::uint64_t>(value * 1e6));
}

void print(const compared_figure& f) {
    std::string range = "-";
    std::string change = "-";
    if (f.unit != "%") change = percent_text(f.change.ratio);
    if (f.change.has_interval) {
        range = percent_text(f.change.low) + " to " + percent_text(f.change.high);
    }
    std::printf("%-12s %14s %14s %9s  %-20s %s\n", f.name.c_str(), value_text(f, f.before).c_str(),
                value_text(f, f.after).c_str(), change.c_str(), range.c_str(), text_of(f.result));
}

void explain(const comparison& c) {
    const compared_figure& first = c.figures.front();
    std::printf("\n%s: %zu values before, %zu after.\n",
                c.of_runs ? "Each run is one value"
                          : "The values are spans of the runs, joined until neighbours are "
                            "hardly correlated",
                first.values_before, first.values_after);
    if (!c.of_runs) {
        std::puts(
            "What differs from one run to the next is not in this confidence: measure with "
            "--runs 5 to have it in.");
    }
}

}  // namespace

int compare_reports(const bench_settings& settings) {
    const json_value before = read_report(settings.compare[0]);
    const json_value after = read_report(settings.compare[1]);
    const auto c = compare(before, after, confidence, settings.tolerance / 100);
    if (!c) throw failure(c.error());
    for (const std::string& d : c->differences) {
        std::fprintf(stderr, "coracle: the loads differ: %s\n", printable(d).c_str());
    }
    std::printf("%-12s %14s %14s %9s  %-20s\n", "", "before", "after", "change", "95% confidence");
    for (const compared_figure& f : c->figures) print(f);
    explain(*c);
    if (!finish_standard_output()) return bench_write_error;
    return c->is_worse() ? bench_worse : bench_ok;
}

}  // namespace coracle::tool::bench
