#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

namespace {

task<int> after(duration d, int n) {
    co_await sleep_for(d);
    co_return n;
}

task<int> fail_after(duration d, const char* text) {
    co_await sleep_for(d);
    throw std::runtime_error(text);
}

task<> clean_up_slowly(std::string& log) {
    const trace t(log, "unwound");
    co_await as_result(forever());
    const auto clean = [] { return sleep_for(1s); };
    co_await as_result(shielded(5s, clean));
    log += "clean";
}

}  // namespace

TEST(when_all, gives_the_values_in_order) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        const auto text = []() -> task<std::string> { co_return "text"; };
        auto [a, b, c] = co_await when_all(after(20ms, 1), text(), sleep_for(10ms));
        EXPECT_EQ(a, 1);
        EXPECT_EQ(b, "text");
        EXPECT_EQ(c, unit());
        EXPECT_EQ(loop::current()->now() - start, 20ms) << "they run at the same time";
    });
}

TEST(when_all, gives_values_that_can_only_be_moved) {
    run_virtually([]() -> task<> {
        const auto make = [](int n) -> task<std::unique_ptr<int>> {
            co_return std::make_unique<int>(n);
        };
        auto [a, b] = co_await when_all(make(1), make(2));
        EXPECT_EQ(*a + *b, 3);
    });
}

TEST(when_all, of_members_that_never_wait_ends_in_the_same_turn) {
    run_virtually([]() -> task<> {
        const auto give = [](int n) -> task<int> { co_return n; };
        const auto turns = loop::current()->turns();
        auto [a, b] = co_await when_all(give(1), give(2));
        EXPECT_EQ(a + b, 3);
        EXPECT_EQ(loop::current()->turns(), turns);
    });
}

TEST(when_all, of_a_vector_gives_a_vector) {
    run_virtually([]() -> task<> {
        std::vector<task<int>> tasks;
        for (int i = 0; i != 1000; ++i) tasks.push_back(after(1ms * (1000 - i), i));
        const auto all = co_await when_all(std::move(tasks));
        EXPECT_EQ(all.size(), 1000u);
        for (int i = 0; i != 1000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)], i);
    });
}

TEST(when_all, of_an_empty_vector_gives_an_empty_one) {
    run_virtually([]() -> task<> {
        EXPECT_TRUE((co_await when_all(std::vector<task<int>>())).empty());
        EXPECT_TRUE((co_await when_all(std::vector<task<>>())).empty());
        auto r = co_await as_result(when_all(std::vector<task<>>()));
        EXPECT_TRUE(r);
    });
}

TEST(when_all, throws_the_first_failure_after_the_others_have_unwound) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto start = loop::current()->now();
        try {
            co_await when_all(clean_up_slowly(log), fail_after(20ms, "second"),
                              fail_after(10ms, "first"));
            ADD_FAILURE() << "it must throw";
        } catch (const std::runtime_error& e) {
            EXPECT_STREQ(e.what(), "first");
            EXPECT_EQ(log, "clean unwound");
            EXPECT_EQ(loop::current()->now() - start, 10ms + 1s);
        }
    });
}

TEST(when_all, cancels_members_that_start_after_a_failure) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto at_once = []() -> task<> {
            throw std::runtime_error("at once");
            co_return;
        };
        const auto waits = [&]() -> task<> {
            const trace t(log, "unwound");
            co_await forever();
        };
        bool caught = false;
        try {
            co_await when_all(waits(), at_once(), waits());
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
    EXPECT_EQ(log, "unwound unwound");
}

TEST(when_all, cancelled_waits_for_all_and_stops_its_awaiter) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto both = [&]() -> task<> {
            const trace t(log, "awaiter");
            co_await when_all(clean_up_slowly(log), forever());
            log += " went on";
        };
        co_await as_result(with_timeout(1ms, both));
    });
    EXPECT_EQ(log, "clean unwound awaiter");
}

TEST(when_all, as_a_result_holds_the_first_error_of_ours) {
    run_virtually([]() -> task<> {
        const auto fails = []() -> task<int> {
            co_await yield();
            throw_exception(error(std::errc::timed_out, "member"));
        };
        auto r = co_await as_result(when_all(after(1h, 1), fails()));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
        EXPECT_EQ(r.error().operation(), "member");
    });
}

TEST(when_all, nests) {
    run_virtually([]() -> task<> {
        auto [left, right] =
            co_await when_all(when_all(after(1ms, 1), after(2ms, 2)), when_all(after(3ms, 3)));
        EXPECT_EQ(std::get<0>(left) + std::get<1>(left) + std::get<0>(right), 6);
    });
}

TEST(when_all, takes_any_range_of_tasks_or_operations) {
    run_virtually([]() -> task<> {
        std::list<task<int>> tasks;
        for (int i = 0; i != 3; ++i) tasks.push_back(after(1ms * (3 - i), i));
        const auto values = co_await when_all(std::move(tasks));
        EXPECT_EQ(values, (std::vector<int>{0, 1, 2}));

        std::vector<sleep_operation> sleeps;
        sleeps.push_back(sleep_for(1ms));
        sleeps.push_back(sleep_for(2ms));
        auto units = co_await when_all(std::move(sleeps));
        EXPECT_EQ(units.size(), 2u);

        // Made one by one by a view; named, since it owns a closure.
        const std::vector<int> numbers{4, 5};
        auto made = numbers | std::views::transform([](int n) { return after(1ms, n); });
        const auto more = co_await when_all(made);
        EXPECT_EQ(more, (std::vector<int>{4, 5}));
    });
}

TEST(when_all, nests_no_deeper_on_the_stack_than_a_bound) {
    struct deep {
        static task<int> count(int depth) {
            if (depth == 0) co_return 0;
            auto [below, zero] = co_await when_all(count(depth - 1), after(0s, 0));
            co_return below + zero + 1;
        }
    };
    run_virtually([]() -> task<> { EXPECT_EQ(co_await deep::count(5'000), 5'000); });
}

TEST(when_all, started_late_and_cancelled_meanwhile_still_unwinds) {
    struct deep {
        static task<> wait(int depth, int& unwound) {
            struct counted {
                int& n;
                ~counted() { ++n; }
            } const c{unwound};
            if (depth != 0) co_await when_all(wait(depth - 1, unwound), yield());
            co_await forever();
        }
    };
    int unwound = 0;
    run_virtually([&]() -> task<> {
        const auto whole = [&] { return deep::wait(100, unwound); };
        auto r = co_await as_result(with_timeout(0s, whole));
        EXPECT_FALSE(r);
    });
    EXPECT_EQ(unwound, 101);
}
