#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

namespace {

task<int> after(duration d, int n) {
    co_await sleep_for(d);
    co_return n;
}

}  // namespace

TEST(with_timeout, gives_the_value_that_comes_in_time) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        EXPECT_EQ(co_await with_timeout(1s, after(10ms, 3)), 3);
        EXPECT_EQ(loop::current()->now() - start, 10ms);
        co_await sleep_for(5s);  // the timer of a wait that is over does nothing any more
    });
}

TEST(with_timeout, takes_an_operation_a_task_or_a_callable) {
    run_virtually([]() -> task<> {
        co_await with_timeout(1s, sleep_for(1ms));
        co_await with_timeout(1s, after(1ms, 1));
        const auto of_task = [] { return after(1ms, 2); };
        EXPECT_EQ(co_await with_timeout(1s, of_task), 2);
        const auto of_operation = [] { return sleep_for(1ms); };
        co_await with_timeout(1s, of_operation);
        co_await with_timeout(1s, [] { return sleep_for(1ms); });
    });
}

TEST(with_timeout, says_that_time_is_over_where_the_task_says_that_it_was_cancelled) {
    using result = std::expected<int, error>;
    run_virtually([]() -> task<> {
        const auto swallows = [](duration d, int n) -> task<result> {
            const auto slept = co_await as_result(sleep_for(d));
            if (!slept) co_return std::unexpected(slept.error());
            co_return n;
        };
        const auto slow = [&swallows] { return swallows(1h, 1); };
        const auto r = co_await as_result(with_timeout(50ms, slow));
        EXPECT_FALSE(r.has_value());
        if (!r.has_value()) {
            EXPECT_TRUE(r.error() == std::errc::timed_out) << r.error();
        }
        EXPECT_THROW(co_await with_timeout(50ms, slow), exception);
        // Also where it throws that it was cancelled, behind its clean-up.
        const auto throws = []() -> task<int> {
            const auto slept = co_await as_result(sleep_for(1h));
            if (!slept) throw_exception(slept.error());
            co_return 1;
        };
        std::error_code thrown;
        try {
            co_await with_timeout(50ms, throws);
        } catch (const exception& e) {
            thrown = e.error().code();
        }
        EXPECT_EQ(thrown, std::errc::timed_out);
        const auto fast = [&swallows] { return swallows(1ms, 7); };
        const auto in_time = co_await as_result(with_timeout(50ms, fast));
        EXPECT_TRUE(in_time.has_value() && *in_time == 7);
        // Another failure, and a value that comes too late but comes, stay what they are.
        const auto fails = []() -> task<result> {
            co_await as_result(sleep_for(1h));
            co_return std::unexpected(error(std::errc::io_error, "test"));
        };
        const auto failed = co_await as_result(with_timeout(50ms, fails));
        EXPECT_TRUE(failed.has_value() && failed->error() == std::errc::io_error);
        const auto finishes = []() -> task<result> {
            co_await as_result(sleep_for(1h));
            co_return 3;
        };
        EXPECT_EQ(*co_await with_timeout(50ms, finishes), 3);
    });
}

TEST(with_timeout, says_cancelled_where_it_was_cancelled_from_around_it) {
    using result = std::expected<int, error>;
    run_virtually([]() -> task<> {
        bool seen = false;
        const auto swallows = []() -> task<result> {
            const auto slept = co_await as_result(sleep_for(1h));
            if (!slept) co_return std::unexpected(slept.error());
            co_return 1;
        };
        const auto inner = [&]() -> task<> {
            const auto r = co_await as_result(with_timeout(1h, swallows));
            seen = r.has_value() && r->error() == std::errc::operation_canceled;
        };
        const auto outer = co_await as_result(with_timeout(50ms, inner));
        EXPECT_TRUE(seen);
        static_cast<void>(outer);
    });
}

TEST(with_timeout, throws_timed_out_after_the_limit_once_the_task_has_unwound) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto start = loop::current()->now();
        const auto slow = [&]() -> task<> {
            const trace t(log, "unwound");
            co_await sleep_for(1h);
            log += "went on ";
        };
        try {
            co_await with_timeout(50ms, slow);
            ADD_FAILURE() << "it must throw";
        } catch (const exception& e) {
            EXPECT_TRUE(e.error() == std::errc::timed_out);
            EXPECT_EQ(log, "unwound");
            EXPECT_EQ(loop::current()->now() - start, 50ms);
        }
    });
}

TEST(with_timeout, as_a_result_gives_the_error_without_a_throw) {
    run_virtually([]() -> task<> {
        auto r = co_await as_result(with_timeout(50ms, after(1h, 1)));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
        auto good = co_await as_result(with_timeout(50ms, after(1ms, 1)));
        EXPECT_EQ(good.value(), 1);
    });
}

TEST(with_timeout, lets_exceptions_through) {
    run_virtually([]() -> task<> {
        const auto fails = []() -> task<> {
            co_await yield();
            throw std::logic_error("no");
        };
        bool caught = false;
        try {
            co_await with_timeout(1s, fails);
        } catch (const std::logic_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
}

TEST(with_timeout, lets_an_exception_of_the_callable_itself_through) {
    run_virtually([]() -> task<> {
        const auto broken = []() -> task<> { throw std::logic_error("before there is a task"); };
        const auto breaks = [&]() -> task<> {
            if (loop::current() != nullptr) throw std::logic_error("no task");
            return broken();
        };
        bool caught = false;
        try {
            co_await with_timeout(1s, breaks);
        } catch (const std::logic_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        caught = false;
        try {
            auto r = co_await as_result(with_timeout(1s, breaks));
        } catch (const std::logic_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        co_await sleep_for(5s);  // a timer left behind would fire now
    });
}

TEST(with_timeout, owns_its_callable_until_the_end) {
    run_virtually([]() -> task<> {
        // The string is too long to stand in the closure: a dangling closure shows under ASan.
        const auto make = [text = std::string(100, 'x')]() -> task<std::size_t> {
            co_await sleep_for(1ms);
            co_return text.size();
        };
        EXPECT_EQ(co_await with_timeout(1s, make), 100u);
    });
}

TEST(with_timeout, of_nested_limits_the_nearest_wins) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        std::string caught;
        const auto inner = [&]() -> task<int> {
            const auto slow = [] { return sleep_for(1h); };
            auto r = co_await as_result(with_timeout(10ms, slow));
            caught = r ? "none" : "inner";
            co_return 1;
        };
        EXPECT_EQ(co_await with_timeout(1s, inner), 1);
        EXPECT_EQ(caught, "inner");
        EXPECT_EQ(loop::current()->now() - start, 10ms);
    });
}

TEST(with_timeout, of_nested_limits_the_outer_one_passes_through_the_inner) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        bool went_on = false;
        const auto inner = [&]() -> task<> {
            try {
                const auto slow = [] { return sleep_for(1h); };
                co_await with_timeout(10s, slow);
            } catch (...) {
                went_on = true;
            }
            went_on = true;
        };
        auto r = co_await as_result(with_timeout(1s, inner));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
        EXPECT_FALSE(went_on);
        EXPECT_EQ(loop::current()->now() - start, 1s);
    });
}

TEST(with_timeout, the_inner_limit_says_nothing_once_the_outer_one_has_struck) {
    run_virtually([]() -> task<> {
        bool went_on = false;
        const auto cleans_up = []() -> task<> {
            co_await as_result(forever());
            const auto clean = [] { return sleep_for(3s); };
            co_await shielded(10s, clean);
            co_await yield();
        };
        const auto inner = [&]() -> task<> {
            try {
                co_await with_timeout(2s, cleans_up);  // falls due amid the clean-up
            } catch (...) {
                went_on = true;
            }
            went_on = true;
        };
        auto r = co_await as_result(with_timeout(1s, inner));
        EXPECT_FALSE(r);
        EXPECT_FALSE(went_on);
    });
}

TEST(with_timeout, the_outer_limit_stops_what_the_inner_one_was_unwinding) {
    run_virtually([]() -> task<> {
        bool went_on = false;
        const auto cleans_up = []() -> task<> {
            co_await as_result(forever());
            const auto clean = [] { return sleep_for(3s); };
            co_await shielded(10s, clean);
            co_await yield();
        };
        const auto inner = [&]() -> task<> {
            try {
                co_await with_timeout(1s, cleans_up);
            } catch (...) {
                went_on = true;
            }
            went_on = true;
        };
        auto r = co_await as_result(with_timeout(2s, inner));
        EXPECT_FALSE(r);
        EXPECT_FALSE(went_on);
    });
}

TEST(with_timeout, of_both_limits_at_once_ends) {
    run_virtually([]() -> task<> {
        const auto inner = []() -> task<> { co_await with_timeout(1s, forever()); };
        auto r = co_await as_result(with_timeout(1s, inner));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::timed_out);
    });
}

TEST(with_timeout, of_no_time_stops_at_the_first_wait) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        for (const duration limit : {duration(0), duration(-1s), duration::min()}) {
            auto r = co_await as_result(with_timeout(limit, after(1s, 1)));
            EXPECT_FALSE(r);
        }
        EXPECT_EQ(loop::current()->now(), start);
        const auto give = []() -> task<int> { co_return 4; };
        EXPECT_EQ(co_await with_timeout(0s, give), 4);
    });
}

TEST(with_timeout, of_the_longest_duration_is_no_limit) {
    run_virtually(
        []() -> task<> { EXPECT_EQ(co_await with_timeout(duration::max(), after(1h, 1)), 1); });
}
