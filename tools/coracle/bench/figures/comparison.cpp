#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <utility>

namespace coracle::tool::bench {
namespace {

constexpr std::size_t enough_runs = 3;

/// A figure that is compared: its value of a run, and of an interval of so many seconds.
struct figure {
    const char* name;
    const char* unit;
    bool less_is_better;
    /// The estimate of after / before. An interval without responses has no latency, and a
    /// throughput of 0.
    ratio_estimate (*compare)(std::span<const double>, std::span<const double>, double);
    std::function<double(const json_value& run)> of_run;
    std::function<double(const json_value& interval, double seconds)> of_interval;
};

double latency(const json_value& run, const char* name) {
    return run["latency_ms"][name].number();
}

std::vector<figure> figures() {
    std::vector<figure> all;
    all.push_back({"throughput", "/s", false, compare_means,
                   [](const json_value& run) { return run["responses_per_s"].number(); },
                   [](const json_value& i, double s) { return i["responses"].number() / s; }});
    for (const char* name : {"p50", "p90", "p99"}) {
        all.push_back({name, "ms", true, compare_ratio,
                       [name](const json_value& run) { return latency(run, name); },
                       [name](const json_value& i, double) { return i[name].number(); }});
    }
    // Intervals hold too few values for it.
    all.push_back({"p99.9", "ms", true, compare_ratio,
                   [](const json_value& run) { return latency(run, "p99.9"); }, nullptr});
    return all;
}

bool is_report(const json_value& v) {
    return v["coracle_bench"].number() == 1 && v["runs"].is_array() &&
           !v["runs"].elements().empty();
}

std::vector<double> values_of_runs(const json_value& report, const figure& f) {
    std::vector<double> all;
    for (const json_value& run : report["runs"].elements()) all.push_back(f.of_run(run));
    return all;
}

std::vector<double> values_of_intervals(const json_value& report, const figure& f) {
    std::vector<double> all;
    if (!f.of_interval) return all;
    for (const json_value& run : report["runs"].elements()) {
        // A run of so many requests may be shorter than its one interval.
        const double measured = run["measured_s"].number();
        const double length = run["interval_s"].number();
        const double seconds = measured > 0 ? std::min(length, measured) : length;
        std::vector<double> own;
        for (const json_value& i : run["intervals"].elements()) {
            const double v = seconds > 0 ? f.of_interval(i, seconds) : 0;
            if (v > 0 || !f.less_is_better) own.push_back(v);
        }
        const std::vector<double> means = batch_means(own);
        all.insert(all.end(), means.begin(), means.end());
    }
    return all;
}

verdict judge(const ratio_estimate& e, bool less_is_better, double tolerance) {
    if (!e.has_interval) return verdict::unknown;
    const bool beyond = e.ratio > 1 + tolerance || e.ratio < 1 / (1 + tolerance);
    if (!e.differs() || !beyond) return verdict::same;
    return (e.ratio < 1) == less_is_better ? verdict::better : verdict::worse;
}

compared_figure compare_one(const figure& f, const json_value& before, const json_value& after,
                            bool of_runs, double confidence, double tolerance) {
    const auto values = of_runs ? values_of_runs : values_of_intervals;
    const std::vector<double> b = values(before, f);
    const std::vector<double> a = values(after, f);
    compared_figure c;
    c.name = f.name;
    c.unit = f.unit;
    c.before = f.of_run(before["total"]);
    c.after = f.of_run(after["total"]);
    c.values_before = b.size();
    c.values_after = a.size();
    c.change = f.compare(b, a, confidence);
    if (!c.change.has_interval && c.before > 0 && c.after > 0) {
        c.change.ratio = c.after / c.before;
    }
    c.result = judge(c.change, f.less_is_better, tolerance);
    return c;
}

double errors_of(const json_value& report) {
    double n = 0;
    for (const auto& [name, value] : report["total"]["errors"].members()) n += value.number();
    return n;
}

/// The probability of two shares that differ as much as these, where there is no difference.
double shares_p_value(double failed_b, double all_b, double failed_a, double all_a) {
    // The normal distribution says nothing about a few.
    constexpr double few = 40;
    if (failed_b + failed_a < few) {
        return fisher_p_value(failed_a, all_a, failed_b, all_b);
    }
    const double pooled = (failed_b + failed_a) / (all_b + all_a);
    const double error = std::sqrt(pooled * (1 - pooled) * (1 / all_b + 1 / all_a));
    if (error <= 0) return 1;
    const double z = (failed_a / all_a - failed_b / all_b) / error;
    // Student's distribution with so many degrees of freedom is the normal one.
    constexpr double many = 1e6;
    return 2 * (1 - student_cdf(std::abs(z), many));
}

/// The share of requests that failed: a test of two proportions, as there is one total each.
compared_figure compare_errors(const json_value& before, const json_value& after, double confidence,
                               double tolerance) {
    compared_figure c;
    c.name = "errors";
    c.unit = "%";
    const double failed_b = errors_of(before);
    const double failed_a = errors_of(after);
    const double all_b = failed_b + before["total"]["responses"].number();
    const double all_a = failed_a + after["total"]["responses"].number();
    if (all_b <= 0 || all_a <= 0) return c;
    c.before = 100 * failed_b / all_b;
    c.after = 100 * failed_a / all_a;
    c.result = verdict::same;
    c.change.p_value = shares_p_value(failed_b, all_b, failed_a, all_a);
    const double less = std::min(c.before, c.after);
    const bool beyond = std::max(c.before, c.after) > less * (1 + tolerance);
    if (!beyond || c.change.p_value >= 1 - confidence) return c;
    c.result = c.after > c.before ? verdict::worse : verdict::better;
    return c;
}

/// A member of the load as text: numbers as they are.
std::string text_of(const json_value& v) {
    if (v.is_text()) return v.text();
    if (!v.is_number()) return "none";
    std::string text = std::to_string(v.number());
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
    return text;
}

std::vector<std::string> differences_of(const json_value& before, const json_value& after) {
    std::vector<std::string> all;
    for (const auto& [name, value] : before["load"].members()) {
        // Another address is what is often compared.
        if (name == "url") continue;
        const std::string b = text_of(value);
        const std::string a = text_of(after["load"][name]);
        if (b == a) continue;
        std::string text = name;
        text.append(" was ").append(b).append(", and is ").append(a);
        all.push_back(std::move(text));
    }
    return all;
}

}  // namespace

bool comparison::is_worse() const noexcept {
    return std::ranges::any_of(figures,
                               [](const compared_figure& f) { return f.result == verdict::worse; });
}

std::expected<comparison, std::string> compare(const json_value& before, const json_value& after,
                                               double confidence, double tolerance) {
    if (!is_report(before)) return std::unexpected("the first one is no report of coracle bench");
    if (!is_report(after)) return std::unexpected("the second one is no report of coracle bench");
    comparison c;
    c.of_runs = before["runs"].elements().size() >= enough_runs &&
                after["runs"].elements().size() >= enough_runs;
    for (const figure& f : figures()) {
        if (!c.of_runs && !f.of_interval) continue;
        c.figures.push_back(compare_one(f, before, after, c.of_runs, confidence, tolerance));
    }
    c.figures.push_back(compare_errors(before, after, confidence, tolerance));
    c.differences = differences_of(before, after);
    return c;
}

}  // namespace coracle::tool::bench
