#include "bench/figures/comparison.hpp"
#include "bench/figures/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace coracle::tool::bench {
namespace {

TEST(bench_statistics, quantiles_of_student_are_those_of_the_tables) {
    EXPECT_NEAR(student_quantile(0.95, 1), 12.7062, 1e-3);
    EXPECT_NEAR(student_quantile(0.95, 4), 2.77645, 1e-4);
    EXPECT_NEAR(student_quantile(0.95, 10), 2.22814, 1e-4);
    EXPECT_NEAR(student_quantile(0.99, 30), 2.75000, 1e-4);
    EXPECT_NEAR(student_quantile(0.95, 1e6), 1.95997, 1e-3);
    EXPECT_NEAR(student_cdf(2.22814, 10), 0.975, 1e-5);
    EXPECT_NEAR(student_cdf(-2.22814, 10), 0.025, 1e-5);
    EXPECT_NEAR(student_cdf(0, 3), 0.5, 1e-12);
}

TEST(bench_statistics, moments_are_those_of_a_sample) {
    const std::vector<double> v{2, 4, 4, 4, 5, 5, 7, 9};
    EXPECT_DOUBLE_EQ(moments_of(v).mean, 5);
    EXPECT_NEAR(moments_of(v).variance, 32.0 / 7, 1e-12);
    EXPECT_EQ(moments_of({}).count, 0U);
}

TEST(bench_statistics, an_interval_covers_the_true_ratio_about_as_often_as_it_says) {
    std::mt19937_64 random(11);
    std::lognormal_distribution<double> before(0, 0.05);
    std::lognormal_distribution<double> after(std::log(1.1), 0.15);
    int covered = 0;
    int seen = 0;
    constexpr int times = 1000;
    for (int i = 0; i != times; ++i) {
        std::vector<double> b;
        std::vector<double> a;
        for (int n = 0; n != 8; ++n) b.push_back(before(random));
        for (int n = 0; n != 5; ++n) a.push_back(after(random));
        const ratio_estimate e = compare_ratio(b, a, 0.95);
        covered += e.low <= 1.1 && 1.1 <= e.high ? 1 : 0;
        seen += e.differs() ? 1 : 0;
        EXPECT_EQ(e.differs(), e.p_value < 0.05);
    }
    EXPECT_GT(covered, 930);
    EXPECT_LT(covered, 970);
    EXPECT_GT(seen, 100);
}

TEST(bench_statistics, one_value_gives_no_interval) {
    const std::vector<double> one{1};
    const std::vector<double> two{2, 2.1};
    EXPECT_FALSE(compare_ratio(one, two, 0.95).has_interval);
    EXPECT_FALSE(compare_ratio({}, two, 0.95).has_interval);
    EXPECT_NEAR(compare_ratio(two, one, 0.95).ratio, 1 / std::sqrt(2 * 2.1), 1e-12);
}

TEST(bench_statistics, neighbours_that_go_together_are_joined) {
    std::mt19937_64 random(5);
    std::normal_distribution<double> step(0, 1);
    std::vector<double> independent;
    std::vector<double> wandering;
    double at = 0;
    for (int i = 0; i != 256; ++i) {
        independent.push_back(step(random));
        wandering.push_back(at = 0.95 * at + step(random));
    }
    EXPECT_GT(lag_one_correlation(wandering), 0.8);
    EXPECT_LT(std::abs(lag_one_correlation(independent)), 0.2);
    EXPECT_EQ(batch_means(independent).size(), 256U);
    EXPECT_LE(batch_means(wandering).size(), 64U);
    EXPECT_GE(batch_means(wandering).size(), 8U);
}

/// A report as --json writes it, of `runs` with this many responses a second and this latency.
/// `stalls`: every second interval has no response.
json_value report(double rate, double latency, int runs, double spread, std::uint64_t errors = 0,
                  bool stalls = false) {
    std::mt19937_64 random(17);
    std::normal_distribution<double> noise(1, spread);
    std::string all;
    for (int r = 0; r != runs; ++r) {
        std::string intervals;
        for (int i = 0; i != 20; ++i) {
            if (stalls && i % 2 == 1) {
                intervals += R"(,{"responses":0,"p50":0,"p90":0,"p99":0})";
                continue;
            }
            intervals +=
                std::string(i == 0 ? "" : ",") +
                "{\"responses\":" + std::to_string(static_cast<int>(rate / 4 * noise(random))) +
                ",\"p50\":" + std::to_string(latency * noise(random)) + ",\"p90\":2,\"p99\":3}";
        }
        all += std::string(r == 0 ? "" : ",") +
               "{\"responses_per_s\":" + std::to_string(rate * noise(random)) +
               ",\"latency_ms\":{\"p50\":" + std::to_string(latency * noise(random)) +
               ",\"p90\":2,\"p99\":3,\"p99.9\":4},\"interval_s\":0.25,\"intervals\":[" + intervals +
               "]}";
    }
    const std::string text =
        "{\"coracle_bench\":1,\"load\":{\"connections\":8},\"total\":{\"responses\":100000,"
        "\"responses_per_s\":" +
        std::to_string(rate) + ",\"errors\":{\"lost\":" + std::to_string(errors) +
        "},\"latency_ms\":{\"p50\":" + std::to_string(latency) +
        ",\"p90\":2,\"p99\":3,\"p99.9\":4}},\"runs\":[" + all + "]}";
    auto v = json_value::parse(text);
    EXPECT_TRUE(v) << (v ? "" : v.error());
    return *std::move(v);
}

const compared_figure& figure(const comparison& c, const std::string& name) {
    for (const compared_figure& f : c.figures) {
        if (f.name == name) return f;
    }
    throw std::runtime_error("there is no " + name);
}

TEST(bench_comparison, a_drop_of_throughput_is_seen_in_the_intervals_of_one_run) {
    const auto c = compare(report(50'000, 1, 1, 0.03), report(45'000, 1.1, 1, 0.03), 0.95, 0.02);
    ASSERT_TRUE(c);
    EXPECT_FALSE(c->of_runs);
    EXPECT_EQ(figure(*c, "throughput").result, verdict::worse);
    EXPECT_NEAR(figure(*c, "throughput").change.ratio, 0.9, 0.03);
    EXPECT_EQ(figure(*c, "p50").result, verdict::worse);
    EXPECT_EQ(figure(*c, "p90").result, verdict::same);
    EXPECT_TRUE(c->is_worse());
}

TEST(bench_comparison, runs_that_are_shorter_than_an_interval_are_as_long_as_they_are) {
    const auto of_30 = [](const std::string& seconds) {
        const std::string run = "{\"measured_s\":" + seconds +
                                ",\"latency_ms\":{},\"interval_s\":0.1,\"intervals\":["
                                "{\"responses\":30,\"p50\":1,\"p90\":1,\"p99\":1}]}";
        const auto v = json_value::parse(
            R"({"coracle_bench":1,"load":{},"total":{"responses":60,"errors":{}},"runs":[)" + run +
            "," + run + "]}");
        EXPECT_TRUE(v) << (v ? "" : v.error());
        return *v;
    };
    const auto c = compare(of_30("0.001"), of_30("0.09"), 0.95, 0.02);
    ASSERT_TRUE(c);
    EXPECT_LT(figure(*c, "throughput").change.ratio, 0.02);
    EXPECT_EQ(figure(*c, "throughput").result, verdict::worse);
}

TEST(bench_comparison, a_rise_is_better_and_noise_is_no_difference) {
    const auto better =
        compare(report(50'000, 1, 5, 0.02), report(60'000, 0.8, 5, 0.02), 0.95, 0.02);
    ASSERT_TRUE(better);
    EXPECT_TRUE(better->of_runs);
    EXPECT_EQ(figure(*better, "throughput").result, verdict::better);
    EXPECT_EQ(figure(*better, "p50").result, verdict::better);
    EXPECT_FALSE(better->is_worse());
    const auto same = compare(report(50'000, 1, 5, 0.2), report(50'500, 1, 5, 0.2), 0.95, 0.02);
    ASSERT_TRUE(same);
    EXPECT_EQ(figure(*same, "throughput").result, verdict::same);
}

TEST(bench_comparison, a_difference_within_the_tolerance_is_none) {
    const auto c = compare(report(50'000, 1, 5, 0.001), report(49'500, 1, 5, 0.001), 0.95, 0.02);
    ASSERT_TRUE(c);
    EXPECT_TRUE(figure(*c, "throughput").change.differs());
    EXPECT_EQ(figure(*c, "throughput").result, verdict::same);
    const auto strict = compare(report(50'000, 1, 5, 0.001), report(49'500, 1, 5, 0.001), 0.95, 0);
    EXPECT_EQ(figure(*strict, "throughput").result, verdict::worse);
}

TEST(bench_comparison, more_errors_are_worse) {
    const auto c = compare(report(50'000, 1, 1, 0.03), report(50'000, 1, 1, 0.03, 500), 0.95, 0.02);
    ASSERT_TRUE(c);
    EXPECT_EQ(figure(*c, "errors").result, verdict::worse);
    EXPECT_TRUE(c->is_worse());
    const auto few =
        compare(report(50'000, 1, 1, 0.03, 1), report(50'000, 1, 1, 0.03, 2), 0.95, 0.02);
    EXPECT_EQ(figure(*few, "errors").result, verdict::same);
}

TEST(bench_comparison, a_few_errors_may_be_chance) {
    for (const auto& [n, result] : {std::pair(4U, verdict::same), std::pair(6U, verdict::worse)}) {
        const auto c =
            compare(report(50'000, 1, 1, 0.03), report(50'000, 1, 1, 0.03, n), 0.95, 0.02);
        EXPECT_EQ(figure(*c, "errors").result, result) << n;
        // A coin that falls to one side n times, or to the other: there are as many requests each.
        EXPECT_NEAR(figure(*c, "errors").change.p_value, std::pow(0.5, n - 1), 1e-3);
        const auto back =
            compare(report(50'000, 1, 1, 0.03, n), report(50'000, 1, 1, 0.03), 0.95, 0.02);
        EXPECT_FALSE(back->is_worse());
    }
}

TEST(bench_statistics, fishers_test_gives_what_is_known) {
    struct row {
        double failed_a, all_a, failed_b, all_b, p;
    };
    // The last one is Fisher's own, of the lady and her tea.
    for (const row& r : {row{16, 20, 8, 20, 0.0225}, row{20, 20, 10, 20, 0.00044},
                         row{22, 25, 10, 25, 0.000904}, row{3, 4, 1, 4, 0.4857}}) {
        EXPECT_NEAR(fisher_p_value(r.failed_a, r.all_a, r.failed_b, r.all_b), r.p, r.p * 0.02);
        EXPECT_NEAR(fisher_p_value(r.failed_b, r.all_b, r.failed_a, r.all_a), r.p, r.p * 0.02);
    }
    EXPECT_NEAR(fisher_p_value(0, 10, 0, 20), 1, 1e-9);
    EXPECT_NEAR(fisher_p_value(6, 990, 0, 10), 1, 1e-9);
}

TEST(bench_comparison, errors_within_the_tolerance_are_the_same) {
    const json_value before = report(50'000, 1, 1, 0.03, 50'000);
    const json_value after = report(50'000, 1, 1, 0.03, 51'500);
    EXPECT_EQ(figure(*compare(before, after, 0.95, 0.05), "errors").result, verdict::same);
    EXPECT_EQ(figure(*compare(before, after, 0.95, 0), "errors").result, verdict::worse);
}

TEST(bench_comparison, intervals_without_a_response_count) {
    const json_value before = report(50'000, 1, 1, 0.03);
    const json_value stalled = report(50'000, 1, 1, 0.03, 0, true);
    const auto c = compare(before, stalled, 0.95, 0.02);
    EXPECT_EQ(figure(*c, "throughput").result, verdict::worse);
    EXPECT_NEAR(figure(*c, "throughput").change.ratio, 0.5, 0.05);
    EXPECT_EQ(figure(*c, "p50").result, verdict::same);
    const auto mended = compare(stalled, before, 0.95, 0.02);
    EXPECT_EQ(figure(*mended, "throughput").result, verdict::better);
    const auto alive = compare(report(0, 1, 1, 0.03), before, 0.95, 0.02);
    EXPECT_EQ(figure(*alive, "throughput").result, verdict::better);
    const auto dead = compare(before, report(0, 1, 1, 0.03), 0.95, 0.02);
    EXPECT_EQ(figure(*dead, "throughput").result, verdict::worse);
    EXPECT_EQ(figure(*dead, "throughput").change.ratio, 0);
}

TEST(bench_comparison, refuses_what_is_no_report) {
    const json_value good = report(1000, 1, 1, 0.03);
    EXPECT_FALSE(compare(json_value(), good, 0.95, 0.02));
    EXPECT_FALSE(
        compare(good, *json_value::parse("{\"coracle_bench\":2,\"runs\":[1]}"), 0.95, 0.02));
}

}  // namespace
}  // namespace coracle::tool::bench
