#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <variant>
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

task<std::string> text_after(duration d, std::string text) {
    co_await sleep_for(d);
    co_return text;
}

}  // namespace

TEST(when_any, gives_the_index_and_the_value_of_the_first) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        auto [index, value] = co_await when_any(after(30ms, 1), after(10ms, 2), after(20ms, 3));
        EXPECT_EQ(index, 1u);
        EXPECT_EQ(value, 2);
        EXPECT_EQ(loop::current()->now() - start, 10ms);
    });
}

TEST(when_any, of_different_types_gives_a_variant) {
    run_virtually([]() -> task<> {
        auto first = co_await when_any(after(30ms, 1), text_after(10ms, "text"), sleep_for(1h));
        EXPECT_EQ(first.index, 1u);
        EXPECT_EQ(std::get<1>(first.value), "text");
        auto rest = co_await when_any(after(1h, 1), sleep_for(1ms));
        EXPECT_EQ(rest.value.index(), 1u);
    });
}

TEST(when_any, of_tasks_without_a_value_gives_units) {
    run_virtually([]() -> task<> {
        auto r = co_await when_any(sleep_for(2ms), sleep_for(1ms));
        static_assert(std::is_same_v<decltype(r.value), unit>);
        EXPECT_EQ(r.index, 1u);
    });
}

TEST(when_any, waits_until_the_losers_have_unwound) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto start = loop::current()->now();
        const auto loser = [&]() -> task<int> {
            const trace t(log, "unwound");
            co_await as_result(forever());
            const auto clean = [] { return sleep_for(1s); };
            co_await shielded(5s, clean);
            log += "clean";
            co_await yield();
            co_return 0;
        };
        auto r = co_await when_any(loser(), after(10ms, 5));
        EXPECT_EQ(r.value, 5);
        EXPECT_EQ(log, "clean unwound");
        EXPECT_EQ(loop::current()->now() - start, 10ms + 1s);
    });
}

TEST(when_any, is_won_by_an_exception_too) {
    run_virtually([]() -> task<> {
        const auto fails = []() -> task<int> {
            co_await yield();
            throw std::runtime_error("first");
        };
        bool caught = false;
        try {
            co_await when_any(after(1h, 1), fails());
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
}

TEST(when_any, with_two_at_the_same_time_has_one_winner) {
    run_virtually([]() -> task<> {
        auto r = co_await when_any(after(10ms, 1), after(10ms, 2));
        EXPECT_EQ(r.index, 0u);
        EXPECT_EQ(r.value, 1);
    });
}

TEST(when_any, is_won_at_once_by_a_member_that_never_waits) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto give = []() -> task<int> { co_return 7; };
        const auto waits = [&]() -> task<int> {
            const trace t(log, "unwound");
            co_await forever();
            co_return 0;
        };
        auto r = co_await when_any(waits(), give(), waits());
        EXPECT_EQ(r.index, 1u);
        EXPECT_EQ(r.value, 7);
    });
    EXPECT_EQ(log, "unwound unwound");
}

TEST(when_any, takes_a_vector) {
    run_virtually([]() -> task<> {
        std::vector<task<int>> tasks;
        for (int i = 0; i != 100; ++i) tasks.push_back(after(1ms * (100 - i), i));
        auto r = co_await when_any(std::move(tasks));
        EXPECT_EQ(r.index, 99u);
        EXPECT_EQ(r.value, 99);
        std::vector<task<>> rests;
        rests.push_back([]() -> task<> { co_await sleep_for(1s); }());
        EXPECT_EQ((co_await when_any(std::move(rests))).index, 0u);
    });
}

TEST(when_any, of_nothing_fails_instead_of_waiting_for_ever) {
    run_virtually([]() -> task<> {
        auto r = co_await as_result(when_any(std::vector<task<int>>()));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::invalid_argument);
    });
    EXPECT_THROW(run_virtually([] { return when_any(std::vector<task<int>>()); }), exception);
}

TEST(when_any, cancelled_stops_its_awaiter_after_all_members) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto both = [&]() -> task<> {
            const trace t(log, "awaiter");
            const auto waits = [&]() -> task<> {
                const trace inner(log, "member");
                co_await forever();
            };
            co_await when_any(waits(), waits());
            log += " went on";
        };
        auto r = co_await as_result(with_timeout(1ms, both));
        EXPECT_FALSE(r);
    });
    EXPECT_EQ(log, "member member awaiter");
}

TEST(when_any, cancelled_gives_the_value_of_a_member_that_still_had_one) {
    const int value = run_virtually([]() -> task<int> {
        const auto both = []() -> task<int> {
            const auto late = []() -> task<int> {
                co_await as_result(forever());
                co_return 9;
            };
            const auto r = co_await when_any(late(), after(1h, 1));
            co_return r.value;
        };
        co_return co_await with_timeout(1ms, both);
    });
    EXPECT_EQ(value, 9);
}

TEST(when_any_results, gives_what_the_losers_had_all_the_same) {
    run_virtually([]() -> task<> {
        // It has taken something, and does not let go of it.
        const auto late = []() -> task<std::string> {
            co_await as_result(forever());
            co_return "taken";
        };
        auto ended = co_await when_any_results(late(), after(1ms, 7), sleep_for(1h));
        EXPECT_EQ(ended.first, 1u);
        auto& [text, number, nothing] = ended.results;
        static_assert(std::is_same_v<decltype(nothing), std::expected<void, error>>);
        EXPECT_EQ(*text, "taken");
        EXPECT_EQ(*number, 7);
        EXPECT_EQ(nothing.error(), std::errc::operation_canceled);
    });
}

TEST(when_any_results, of_a_range_is_a_vector) {
    run_virtually([]() -> task<> {
        std::vector<task<int>> tasks;
        for (int i = 0; i != 3; ++i) tasks.push_back(after(1ms * (3 - i), i));
        const auto ended = co_await when_any_results(std::move(tasks));
        EXPECT_EQ(ended.first, 2u);
        EXPECT_FALSE(ended.results[0]);
        EXPECT_FALSE(ended.results[1]);
        EXPECT_EQ(ended.results[2], 2);
        auto none = co_await as_result(when_any_results(std::vector<task<int>>()));
        EXPECT_EQ(none.error(), std::errc::invalid_argument);
    });
}

TEST(when_any_results, gives_errors_in_their_places_and_throws_all_else) {
    run_virtually([]() -> task<> {
        const auto fails = []() -> task<int> {
            co_await yield();
            throw_exception(error(std::errc::io_error, "test"));
        };
        const auto ended = co_await when_any_results(after(1h, 1), fails());
        EXPECT_EQ(ended.first, 1u);
        EXPECT_EQ(std::get<1>(ended.results).error(), std::errc::io_error);
        const auto throws = []() -> task<int> {
            co_await yield();
            throw std::runtime_error("test");
        };
        bool caught = false;
        try {
            static_cast<void>(co_await when_any_results(after(1h, 1), throws()));
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
}

TEST(when_any_results, cancelled_from_outside_gives_what_a_member_still_had) {
    run_virtually([]() -> task<> {
        const auto late = []() -> task<int> {
            co_await as_result(forever());
            co_return 9;
        };
        const auto both = [&] { return when_any_results(late(), after(1h, 1)); };
        const auto ended = co_await with_timeout(1ms, both);
        EXPECT_EQ(ended.first, 0u);
        EXPECT_EQ(std::get<0>(ended.results), 9);
        EXPECT_FALSE(std::get<1>(ended.results));
    });
}

TEST(when_any, takes_a_range_of_operations) {
    run_virtually([]() -> task<> {
        std::vector<sleep_operation> sleeps;
        for (int i = 5; i != 0; --i) sleeps.push_back(sleep_for(1ms * i));
        auto first = co_await when_any(std::move(sleeps));
        EXPECT_EQ(first.index, 4u);
        EXPECT_EQ(first.value, unit());
    });
}
