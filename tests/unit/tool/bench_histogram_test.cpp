#include "bench/figures/histogram.hpp"
#include "bench/figures/timeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <vector>

namespace coracle::tool::bench {
namespace {

TEST(bench_histogram, every_value_is_in_the_bucket_that_has_its_index) {
    std::vector<std::uint64_t> values;
    for (unsigned bits = 0; bits != histogram::largest_bits; ++bits) {
        const std::uint64_t power = std::uint64_t{1} << bits;
        for (const std::uint64_t v : {power - 1, power, power + 1, power + power / 3}) {
            if (v <= histogram::largest) values.push_back(v);
        }
    }
    values.push_back(histogram::largest);
    for (const std::uint64_t v : values) {
        const std::size_t i = histogram::index_of(v);
        ASSERT_LT(i, histogram::buckets) << v;
        EXPECT_LE(histogram::lowest_of(i), v);
        EXPECT_LT(v, histogram::end_of(i));
    }
    EXPECT_EQ(histogram::index_of(histogram::largest), histogram::buckets - 1);
}

TEST(bench_histogram, buckets_follow_on_each_other_and_are_no_wider_than_promised) {
    for (std::size_t i = 0; i + 1 != histogram::buckets; ++i) {
        const std::uint64_t low = histogram::lowest_of(i);
        const std::uint64_t end = histogram::end_of(i);
        ASSERT_EQ(histogram::index_of(low), i);
        ASSERT_EQ(histogram::index_of(end - 1), i);
        ASSERT_EQ(histogram::index_of(end), i + 1);
        // The middle is off by half of a width, at most 1/512 of the value.
        const std::uint64_t middle = histogram::middle_of(i);
        ASSERT_LE((middle - low) * 512, low);
        ASSERT_LE((end - 1 - middle) * 512, end - 1);
    }
}

TEST(bench_histogram, small_values_are_exact) {
    const auto h = std::make_unique<histogram>();
    for (std::uint64_t v = 1; v <= 500; ++v) h->record(v);
    for (unsigned percent = 1; percent <= 100; ++percent) {
        EXPECT_EQ(h->percentile(percent / 100.0), percent * 5);
    }
    EXPECT_EQ(h->min(), 1U);
    EXPECT_EQ(h->max(), 500U);
    EXPECT_DOUBLE_EQ(h->mean(), 250.5);
    EXPECT_NEAR(h->deviation(), std::sqrt((500.0 * 500 - 1) / 12), 1e-6);
}

TEST(bench_histogram, percentiles_of_any_values_are_within_the_relative_error) {
    std::mt19937_64 drawn(7);
    std::lognormal_distribution<double> latency(13, 1.5);
    std::vector<std::uint64_t> values;
    const auto h = std::make_unique<histogram>();
    for (int i = 0; i != 20'000; ++i) {
        values.push_back(static_cast<std::uint64_t>(latency(drawn)));
        h->record(values.back());
    }
    std::ranges::sort(values);
    for (const double share : {0.0, 0.01, 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0}) {
        const double exact =
            static_cast<double>(values[histogram::rank_of(share, values.size()) - 1]);
        EXPECT_NEAR(static_cast<double>(h->percentile(share)), exact, exact / 512) << share;
    }
    EXPECT_EQ(h->percentile(1), values.back());
}

TEST(bench_histogram, ranks_are_not_moved_by_rounding) {
    EXPECT_EQ(histogram::rank_of(0.07, 100), 7U);
    EXPECT_EQ(histogram::rank_of(0.99, 100), 99U);
    EXPECT_EQ(histogram::rank_of(0.999, 1'000'000'000), 999'000'000U);
    EXPECT_EQ(histogram::rank_of(0, 5), 1U);
    EXPECT_EQ(histogram::rank_of(2, 5), 5U);
}

TEST(bench_histogram, an_empty_one_has_zeros) {
    const auto h = std::make_unique<histogram>();
    EXPECT_EQ(h->count(), 0U);
    EXPECT_EQ(h->percentile(0.5), 0U);
    EXPECT_EQ(h->min(), 0U);
    EXPECT_EQ(h->mean(), 0);
    EXPECT_TRUE(h->filled().empty());
}

TEST(bench_histogram, values_beyond_the_last_bucket_count_in_it) {
    const auto h = std::make_unique<histogram>();
    h->record(histogram::largest + 12345);
    EXPECT_EQ(h->count(), 1U);
    EXPECT_EQ(h->max(), histogram::largest + 12345);
    EXPECT_EQ(h->filled().front().index, histogram::buckets - 1);
}

TEST(bench_histogram, merged_ones_are_as_one_that_has_recorded_all) {
    const auto a = std::make_unique<histogram>();
    const auto b = std::make_unique<histogram>();
    const auto both = std::make_unique<histogram>();
    std::mt19937_64 drawn(3);
    for (int i = 0; i != 5000; ++i) {
        const std::uint64_t v = drawn() >> (20 + i % 40);
        (i % 3 == 0 ? a : b)->record(v);
        both->record(v);
    }
    a->merge(*b);
    EXPECT_EQ(a->filled(), both->filled());
    EXPECT_EQ(a->count(), both->count());
    EXPECT_EQ(a->min(), both->min());
    EXPECT_EQ(a->max(), both->max());
    EXPECT_EQ(a->percentile(0.9), both->percentile(0.9));
    const auto none = std::make_unique<histogram>();
    a->merge(*none);
    EXPECT_EQ(a->min(), both->min());
    a->clear();
    EXPECT_TRUE(a->filled().empty());
    a->merge(*both);
    EXPECT_EQ(a->filled(), both->filled());
}

TEST(bench_histogram, lists_of_buckets_add_up_and_have_the_same_percentiles) {
    const auto a = std::make_unique<histogram>();
    const auto b = std::make_unique<histogram>();
    const auto both = std::make_unique<histogram>();
    for (std::uint64_t v = 1000; v != 3000; ++v) {
        (v % 2 == 0 ? a : b)->record(v * v);
        both->record(v * v);
    }
    const auto all = joined(a->filled(), b->filled());
    EXPECT_EQ(all, both->filled());
    for (const double share : {0.1, 0.5, 0.99}) {
        EXPECT_EQ(percentile_of(all, share), both->percentile(share));
    }
    const auto again = std::make_unique<histogram>();
    again->add(all);
    EXPECT_EQ(again->filled(), all);
}

TEST(bench_timeline, joins_neighbours_rather_than_grow) {
    timeline line(std::chrono::seconds(1));
    const auto c = std::make_unique<counts>();
    c->add_response(200, 1000);
    const std::uint64_t n = timeline::most * 3;
    for (std::uint64_t i = 0; i != n; ++i) line.add(i, *c);
    EXPECT_EQ(line.length(), std::chrono::seconds(4));
    ASSERT_EQ(line.intervals().size(), n / 4);
    for (const interval& i : line.intervals()) {
        EXPECT_EQ(i.responses, 4U);
        EXPECT_EQ(percentile_of(i.latency, 0.5), histogram::middle_of(histogram::index_of(1000)));
    }
}

TEST(bench_timeline, a_last_interval_that_is_not_whole_is_cut) {
    timeline line(std::chrono::seconds(1));
    const auto c = std::make_unique<counts>();
    for (std::uint64_t i = 0; i != 5; ++i) line.add(i, *c);
    line.cut(std::chrono::milliseconds(3500));
    EXPECT_EQ(line.intervals().size(), 3U);
}

}  // namespace
}  // namespace coracle::tool::bench
