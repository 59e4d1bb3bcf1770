#include "metrics/thread_cells.hpp"
#include "support/allocation_count.hpp"

#include <coracle/base/error.hpp>
#include <coracle/metrics/registry.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using namespace coracle;

namespace {

template <class F>
error failure_of(F make) {
    try {
        make();
    } catch (const exception& e) {
        return e.error();
    }
    return {};
}

std::vector<std::string> labels(std::initializer_list<const char*> names) {
    return {names.begin(), names.end()};
}

}  // namespace

TEST(metrics_registry, counts_and_writes_the_text_of_prometheus) {
    metrics::registry all;
    const auto orders = all.make_counter("shop_orders_total", "Orders\\taken.\nAll of them.");
    const auto queue = all.make_gauge("shop_queue", "Orders that \"wait\".");
    const auto failures =
        all.make_counter("shop_failures_total", "By reason.", labels({"reason", "shop"}));
    orders.add();
    orders.add(41);
    queue.set(2.5);
    queue.add(-1);
    failures.with({"a \"b\" \\ c\nd", "north"}).add(3);
    failures.with({"", "south"}).add();
    failures.with({"", "south"}).add();
    EXPECT_EQ(orders.value(), 42u);
    EXPECT_EQ(queue.value(), 1.5);
    EXPECT_EQ(all.text(),
              "# HELP shop_failures_total By reason.\n"
              "# TYPE shop_failures_total counter\n"
              "shop_failures_total{reason=\"\",shop=\"south\"} 2\n"
              "shop_failures_total{reason=\"a \\\"b\\\" \\\\ c\\nd\",shop=\"north\"} 3\n"
              "# HELP shop_orders_total Orders\\\\taken.\\nAll of them.\n"
              "# TYPE shop_orders_total counter\n"
              "shop_orders_total 42\n"
              "# HELP shop_queue Orders that \"wait\".\n"
              "# TYPE shop_queue gauge\n"
              "shop_queue 1.5\n");
}

TEST(metrics_registry, writes_openmetrics) {
    metrics::registry all;
    all.make_counter("a_total", "Say \"a\".").add(7);
    all.make_gauge("b", "B.").set(std::numeric_limits<double>::infinity());
    EXPECT_EQ(all.text(metrics::exposition::openmetrics),
              "# HELP a Say \\\"a\\\".\n# TYPE a counter\na_total 7\n"
              "# HELP b B.\n# TYPE b gauge\nb +Inf\n# EOF\n");
}

TEST(metrics_registry, puts_observations_into_buckets_by_their_upper_bound) {
    metrics::registry all;
    const auto sizes = all.make_histogram("sizes", "S.", {1, 2.5, 10});
    for (const double v : {0.5, 1.0, 1.5, 2.5, 11.0}) sizes.observe(v);
    EXPECT_EQ(sizes.count(), 5u);
    EXPECT_EQ(sizes.sum(), 16.5);
    EXPECT_EQ(all.text(),
              "# HELP sizes S.\n# TYPE sizes histogram\n"
              "sizes_bucket{le=\"1\"} 2\nsizes_bucket{le=\"2.5\"} 4\nsizes_bucket{le=\"10\"} 4\n"
              "sizes_bucket{le=\"+Inf\"} 5\nsizes_sum 16.5\nsizes_count 5\n");
    sizes.observe(std::nan(""));
    EXPECT_EQ(sizes.count(), 6u);
    EXPECT_NE(all.text().find("sizes_bucket{le=\"10\"} 4\n"), std::string::npos);
    EXPECT_NE(all.text().find("sizes_sum NaN\n"), std::string::npos);
}

// Bounds are labels, whose texts are compared: as the clients of Prometheus for Go write them.
TEST(metrics_registry, writes_bounds_as_others_do) {
    metrics::registry all;
    all.make_histogram("h", "H.", {0.00001, 0.0001, 0.0005, 1, 2.5, 10, 100000, 1e6, 2.5e6})
        .observe(1);
    const auto bounds = [&all](metrics::exposition format) {
        std::string found;
        const std::string text = all.text(format);
        for (std::size_t at = 0; (at = text.find("le=\"", at)) != text.npos;) {
            at += 4;
            found += text.substr(at, text.find('"', at) - at) + ' ';
        }
        return found;
    };
    EXPECT_EQ(bounds(metrics::exposition::prometheus),
              "1e-05 0.0001 0.0005 1 2.5 10 100000 1e+06 2.5e+06 +Inf ");
    EXPECT_EQ(bounds(metrics::exposition::openmetrics),
              "1e-05 0.0001 0.0005 1.0 2.5 10.0 100000.0 1e+06 2.5e+06 +Inf ");
}

// OpenMetrics: a sum is a counter there, and there is no count without one.
TEST(metrics_registry, writes_no_sum_that_may_fall_as_openmetrics) {
    metrics::registry all;
    all.make_histogram("cold", "", {-10, 0}).observe(5);
    all.make_histogram("cool", "", {0, 10}).observe(-5);
    all.make_histogram("odd", "", {0, 10}).observe(std::nan(""));
    all.make_histogram("warm", "", {0, 10}).observe(5);
    const std::string open = all.text(metrics::exposition::openmetrics);
    for (const char* name : {"cold", "cool", "odd"}) {
        EXPECT_EQ(open.find(name + std::string("_sum")), open.npos) << open;
        EXPECT_EQ(open.find(name + std::string("_count")), open.npos) << open;
        EXPECT_NE(open.find(name + std::string("_bucket{le=\"+Inf\"} 1\n")), open.npos) << open;
    }
    EXPECT_NE(open.find("warm_sum 5\nwarm_count 1\n"), open.npos) << open;
    EXPECT_NE(all.text().find("cold_sum 5\ncold_count 1\n"), std::string::npos);
}

TEST(metrics_registry, keeps_histograms_with_labels_apart) {
    metrics::registry all;
    const auto times = all.make_histogram("times", "T.", {1}, labels({"route"}));
    times.with({"/a"}).observe(0.5);
    times.with({"/b"}).observe(2);
    EXPECT_EQ(times.with({"/a"}).count(), 1u);
    EXPECT_EQ(all.text(),
              "# HELP times T.\n# TYPE times histogram\n"
              "times_bucket{route=\"/a\",le=\"1\"} 1\ntimes_bucket{route=\"/a\",le=\"+Inf\"} 1\n"
              "times_sum{route=\"/a\"} 0.5\ntimes_count{route=\"/a\"} 1\n"
              "times_bucket{route=\"/b\",le=\"1\"} 0\ntimes_bucket{route=\"/b\",le=\"+Inf\"} 1\n"
              "times_sum{route=\"/b\"} 2\ntimes_count{route=\"/b\"} 1\n");
}

TEST(metrics_registry, asks_for_numbers_when_the_text_is_made) {
    metrics::registry all;
    double value = 1;
    all.make_reader("open_files", "F.", [&value] { return value; });
    all.make_reader("bytes_total", "B.", labels({"way"}),
                    [](const metrics::registry::series_writer& write) {
                        const std::string_view in[] = {"in"};
                        const std::string_view out[] = {"out"};
                        write(in, 5);
                        write(out, 6);
                        write({}, 7);  // without its label: nowhere
                    });
    value = 2;
    EXPECT_EQ(all.text(),
              "# HELP bytes_total B.\n# TYPE bytes_total counter\n"
              "bytes_total{way=\"in\"} 5\nbytes_total{way=\"out\"} 6\n"
              "# HELP open_files F.\n# TYPE open_files gauge\nopen_files 2\n");
    EXPECT_TRUE(all.remove("open_files"));
    EXPECT_FALSE(all.remove("open_files"));
    EXPECT_EQ(all.text().find("open_files"), std::string::npos);
    // Its names are free again, for another kind too.
    all.make_reader("open_files_total", "F.", [] { return 3.0; });
    EXPECT_TRUE(all.remove("open_files_total"));
    all.make_reader("open_files", "F.", [] { return 4.0; });
    EXPECT_NE(all.text().find("open_files 4\n"), std::string::npos);
    // Only readers go: who counts has a reference.
    all.make_counter("c_total", "");
    EXPECT_FALSE(all.remove("c_total"));
}

TEST(metrics_registry, bounds_the_series_of_a_name) {
    metrics::registry_options o;
    o.series = 3;
    metrics::registry all(o);
    const auto seen = all.make_counter("seen_total", "", labels({"who", "what"}));
    for (int i = 0; i != 10; ++i) seen.with({std::to_string(i), "x"}).add();
    EXPECT_EQ(seen.with({"2", "x"}).value(), 1u);
    EXPECT_EQ(seen.with({"other", "other"}).value(), 7u);
    EXPECT_EQ(seen.with({"9", "x"}).value(), 7u);
    const auto text = all.text();
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2 + 4);
}

TEST(metrics_registry, has_a_bounded_number_of_cells) {
    metrics::registry_options o;
    o.series = 100'000;
    metrics::registry all(o);
    const auto seen = all.make_counter("seen_total", "", labels({"n"}));
    const auto times = all.make_histogram("times", "", {1}, labels({"n"}));
    for (int i = 0; i != 40'000; ++i) seen.with({std::to_string(i)}).add();
    // One is for all others, and three are those of the other times.
    constexpr std::uint64_t own = 32'768 - 1 - 3;
    EXPECT_EQ(seen.with({std::to_string(own - 1)}).value(), 1u);
    EXPECT_EQ(seen.with({std::to_string(own)}).value(), 40'000 - own);
    EXPECT_EQ(seen.with({"other"}).value(), 40'000 - own);
    times.with({"a"}).observe(0.5);
    times.with({"b"}).observe(3);
    EXPECT_EQ(times.with({"other"}).count(), 2u);
    EXPECT_EQ(times.with({"other"}).sum(), 3.5);
    EXPECT_EQ(seen.with({"0"}).value(), 1u);
    // A name whose metric could not be made is free.
    for (int i = 0; i != 2; ++i) {
        EXPECT_EQ(failure_of([&all] { all.make_counter("more_total", ""); }), errc::limit_exceeded);
    }
    EXPECT_EQ(all.text().find("more_total"), std::string::npos);
    const auto level = all.make_gauge("level", "", labels({"n"}));
    level.with({"a"}).set(1);
    level.with({"b"}).set(2);
    EXPECT_EQ(level.with({"a"}).value(), 1);
}

TEST(metrics_registry, takes_one_cell_for_a_counter) {
    metrics::registry all;
    const auto make = [&all](int i) {
        return all.make_counter("c" + std::to_string(i) + "_total", "");
    };
    for (int i = 0; i != 32'768; ++i) make(i).add();
    EXPECT_EQ(failure_of([&] { make(32'768); }), errc::limit_exceeded);
}

TEST(metrics_registry, takes_no_cells_for_a_name_that_is_taken) {
    metrics::registry all;
    const auto first = all.make_counter("a_total", "");
    for (int i = 0; i != 40'000; ++i) {
        EXPECT_EQ(failure_of([&all] { all.make_counter("a_total", ""); }), errc::already_exists);
    }
    all.make_counter("b_total", "").add();
    EXPECT_EQ(first.value(), 0u);
}

TEST(metrics_registry, has_one_family_for_each_name_that_is_written) {
    metrics::registry all;
    all.make_histogram("h_seconds", "", {1});
    all.make_gauge("g_count", "");
    all.make_counter("c_total", "");
    for (const char* name :
         {"h_seconds", "h_seconds_bucket", "h_seconds_count", "h_seconds_sum", "g_count", "c"}) {
        EXPECT_EQ(failure_of([&] { all.make_gauge(name, ""); }), errc::already_exists) << name;
    }
    EXPECT_EQ(failure_of([&] { all.make_histogram("g", "", {1}); }), errc::already_exists);
    EXPECT_EQ(failure_of([&] { all.make_counter("g_count_total", ""); }), errc::already_exists);
    EXPECT_FALSE(failure_of([&] { all.make_gauge("h_seconds_max", ""); }).code());
}

TEST(metrics_registry, writes_values_that_are_no_utf_8_as_text) {
    metrics::registry all;
    const auto seen = all.make_counter("seen_total", "", labels({"who"}));
    seen.with({"caf\xe9"}).add();
    seen.with({"caf\xe8"}).add();
    EXPECT_NE(all.text().find("seen_total{who=\"caf\xef\xbf\xbd\"} 2\n"), std::string::npos)
        << all.text();
    all.make_reader("up", "", labels({"host"}), [](const auto& write) {
        const std::string_view host[] = {"caf\xe8"};
        write(host, 1);
    });
    EXPECT_NE(all.text().find("up{host=\"caf\xef\xbf\xbd\"} 1\n"), std::string::npos) << all.text();
}

TEST(metrics_registry, refuses_malformed_names_labels_and_bounds) {
    metrics::registry all;
    const auto counter = [&all](const char* name, std::vector<std::string> l = {}) {
        return failure_of([&] { all.make_counter(name, "", std::move(l)); });
    };
    for (const char* name :
         {"", "1_total", "a-b_total", "a b_total", "_total", "plain", "ä_total"}) {
        EXPECT_EQ(counter(name), std::errc::invalid_argument) << name;
    }
    for (const char* label : {"", "__a", "a:b", "le", "1", "a\n"}) {
        EXPECT_EQ(counter("a_total", labels({label})), std::errc::invalid_argument) << label;
    }
    EXPECT_EQ(counter("a_total", labels({"x", "x"})), std::errc::invalid_argument);
    EXPECT_FALSE(counter("ns:a_total", labels({"x", "y"})).code());
    EXPECT_EQ(counter("ns:a_total"), errc::already_exists);
    EXPECT_EQ(failure_of([&] { all.make_gauge("b_total", ""); }), std::errc::invalid_argument);
    const double none = std::numeric_limits<double>::infinity();
    for (const std::vector<double>& bounds :
         {std::vector<double>{}, {2, 1}, {1, 1}, {1, none}, std::vector<double>(65, 1)}) {
        EXPECT_EQ(failure_of([&] { all.make_histogram("h", "", bounds); }),
                  std::errc::invalid_argument);
    }
    const auto seen = all.make_counter("seen_total", "", labels({"x"}));
    EXPECT_EQ(failure_of([&] { static_cast<void>(seen.with({"a", "b"})); }),
              std::errc::invalid_argument);
}

TEST(metrics_registry, adds_up_what_threads_counted_that_have_ended) {
    metrics::registry all;
    const auto seen = all.make_counter("seen_total", "");
    const auto times = all.make_histogram("times", "", {1, 2});
    for (int round = 0; round != 3; ++round) {
        std::vector<std::thread> threads;
        for (int t = 0; t != 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i != 10'000; ++i) {
                    seen.add();
                    times.observe(1.5);
                }
            });
        }
        // Read while they count.
        EXPECT_LE(seen.value(), 120'000u);
        for (auto& t : threads) t.join();
    }
    EXPECT_EQ(seen.value(), 120'000u);
    EXPECT_EQ(times.count(), 120'000u);
    EXPECT_EQ(times.sum(), 180'000.0);
}

TEST(thread_cells, are_handed_on_by_threads_that_end) {
    metrics::detail::thread_cells cells;
    for (int i = 0; i != 20; ++i) std::thread([&cells] { cells.add(700, 2); }).join();
    EXPECT_EQ(cells.sum(700), 40u);
    EXPECT_EQ(cells.blocks(), 1u);
}

TEST(metrics_registry, of_several_each_thread_keeps_them_apart) {
    metrics::registry first;
    const auto a = first.make_counter("a_total", "");
    {
        metrics::registry second;
        const auto b = second.make_counter("b_total", "");
        for (int i = 0; i != 5; ++i) {
            a.add();
            b.add(2);
        }
        EXPECT_EQ(b.value(), 10u);
    }
    metrics::registry third;
    const auto c = third.make_counter("c_total", "");
    c.add(3);
    a.add();
    EXPECT_EQ(a.value(), 6u);
    EXPECT_EQ(c.value(), 3u);
}

TEST(metrics_registry, may_end_before_a_thread_that_counted) {
    std::atomic<int> step{0};
    auto all = std::make_unique<metrics::registry>();
    const auto seen = all->make_counter("seen_total", "");
    std::thread t([&] {
        seen.add();
        step = 1;
        step.notify_all();
        step.wait(1);
    });
    step.wait(0);
    EXPECT_EQ(seen.value(), 1u);
    all.reset();
    step = 2;
    step.notify_all();
    t.join();
}

TEST(metrics_registry, leaves_no_name_that_nobody_can_use) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    const auto make = [](metrics::registry& r, int what) {
        if (what == 0) static_cast<void>(r.make_counter("a_total", "Help."));
        if (what == 1) static_cast<void>(r.make_gauge("a", "Help."));
        if (what == 2) static_cast<void>(r.make_histogram("a", "Help.", {1, 2}));
    };
    for (int what = 0; what != 3; ++what) {
        bool failed = true;
        for (std::size_t n = 1; failed; ++n) {
            metrics::registry all;
            failed = coracle::testing::fails_at(n, [&] { make(all, what); });
            if (failed) {
                EXPECT_NO_THROW(make(all, what)) << n;
            }
        }
    }
}

TEST(metrics_registry, loses_no_room_for_series_where_memory_fails) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    metrics::registry all;
    const auto times = all.make_histogram("times", "T.", metrics::latency_buckets(), {"route"});
    using coracle::testing::fails_at;
    const auto last_of = [&](const auto& make) {
        metrics::registry other;
        const auto others = other.make_histogram("times", "T.", {1}, {"route"});
        std::size_t n = 1;
        while (fails_at(n, [&] { make(other, others); })) ++n;
        return n - 1;
    };
    using histograms = metrics::family<metrics::histogram>;
    const auto a_series = [](metrics::registry&, const histograms& of) {
        static_cast<void>(of.with({"/a"}));
    };
    const auto a_family = [](metrics::registry& r, const histograms&) {
        static_cast<void>(r.make_histogram("other", "T.", {1, 2, 3}));
    };
    const std::size_t series = last_of(a_series);
    const std::size_t families = last_of(a_family);
    ASSERT_GT(series, 0u);
    ASSERT_GT(families, 0u);
    // Each of them would lose four cells at least, of 32,768.
    for (int round = 0; round != 9000; ++round) {
        ASSERT_TRUE(fails_at(series, [&] { a_series(all, times); })) << round;
        ASSERT_TRUE(fails_at(families, [&] { a_family(all, times); })) << round;
    }
    times.with({"/b"}).observe(1);
    EXPECT_NE(all.text().find("times_count{route=\"/b\"} 1\n"), std::string::npos);
}

TEST(metrics_registry, shows_the_others_where_a_reader_throws) {
    metrics::registry all;
    all.make_reader("a", "Help.", [] { return 1.0; });
    all.make_reader("b", "Help.", []() -> double { throw std::runtime_error("no"); });
    all.make_reader("c", "Help.", [] { return 2.0; });
    const std::string text = all.text();
    EXPECT_NE(text.find("\na 1\n"), text.npos) << text;
    EXPECT_EQ(text.find("b"), text.npos) << text;
    EXPECT_NE(text.find("\nc 2\n"), text.npos) << text;
}
