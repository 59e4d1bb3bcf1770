#include "support/virtual_time.hpp"

#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;

namespace {

task<std::expected<int, error>> compute(int n) {
    co_await yield();
    if (n < 0) co_return std::unexpected(error(std::errc::invalid_argument, "compute"));
    co_return n;
}

operation<int> ask(int n) {
    return compute(n);
}

operation<> wait_for_ever() {
    const auto work = []() -> task<std::expected<void, error>> {
        co_await forever();
        co_return std::expected<void, error>();
    };
    return work();
}

/// The shape of our own operations: a cancelled leaf becomes an error that is handed on.
operation<> wait_for_ever_by_result() {
    const auto work = []() -> task<std::expected<void, error>> {
        auto r = co_await as_result(forever());
        if (!r) co_return std::unexpected(std::move(r).error());
        co_return std::expected<void, error>();
    };
    return work();
}

task<int> throws_ours() {
    throw_exception(error(std::errc::timed_out, "inner"));
    co_return 0;
}

task<int> throws_other() {
    throw std::logic_error("bug");
    co_return 0;
}

/// Awaits `as_result` of what `f` makes in a task that is cancelled meanwhile, and gives the error.
template <class F>
std::string result_when_cancelled(F f) {
    std::string seen = "stopped";
    run_virtually([&]() -> task<> {
        const auto inner = [&]() -> task<> {
            auto r = co_await as_result(f());
            seen = r ? "value" : r.error().code().message();
        };
        co_await as_result(with_timeout(1ms, inner));
    });
    return seen;
}

const std::string canceled = std::make_error_code(std::errc::operation_canceled).message();

}  // namespace

TEST(operation, gives_its_value) {
    EXPECT_EQ(run_virtually([] { return ask(5); }), 5);
}

TEST(operation, throws_its_error) {
    try {
        run_virtually([] { return ask(-1); });
        FAIL() << "it must throw";
    } catch (const exception& e) {
        EXPECT_TRUE(e.error() == std::errc::invalid_argument);
        EXPECT_EQ(e.error().operation(), "compute");
    }
}

TEST(operation, that_has_completed_already_gives_what_it_has) {
    run_virtually([]() -> task<> {
        operation<int> five = std::expected<int, error>(5);
        EXPECT_EQ(co_await std::move(five), 5);
        operation<int> failed =
            std::expected<int, error>(std::unexpected(error(std::errc::timed_out)));
        auto r = co_await as_result(std::move(failed));
        EXPECT_FALSE(r);
        operation<> nothing = std::expected<void, error>();
        co_await std::move(nothing);
    });
}

TEST(operation, does_nothing_until_it_is_awaited) {
    bool ran = false;
    run_virtually([&]() -> task<> {
        const auto work = [&]() -> task<std::expected<void, error>> {
            ran = true;
            co_return std::expected<void, error>();
        };
        operation<> op = work();
        co_await yield();
        EXPECT_FALSE(ran);
        {
            const operation<> dropped = work();
        }
        EXPECT_FALSE(ran);
        co_await std::move(op);
        EXPECT_TRUE(ran);
    });
}

TEST(as_result, gives_values_and_errors_without_a_throw) {
    run_virtually([]() -> task<> {
        auto good = co_await as_result(ask(5));
        EXPECT_EQ(good.value(), 5);
        auto bad = co_await as_result(ask(-1));
        EXPECT_FALSE(bad);
        EXPECT_TRUE(bad.error() == std::errc::invalid_argument);
    });
}

TEST(as_result, takes_an_operation_that_has_a_name) {
    run_virtually([]() -> task<> {
        auto op = ask(-1);
        auto r = co_await as_result(op);
        EXPECT_FALSE(r);
        auto rest = sleep_for(1s);
        EXPECT_TRUE(co_await as_result(rest));
    });
}

TEST(as_result, of_a_task_catches_our_exceptions_and_no_others) {
    run_virtually([]() -> task<> {
        auto ours = co_await as_result(throws_ours());
        EXPECT_FALSE(ours);
        EXPECT_TRUE(ours.error() == std::errc::timed_out);
        EXPECT_EQ(ours.error().operation(), "inner");
        bool caught = false;
        try {
            static_cast<void>(co_await as_result(throws_other()));
        } catch (const std::logic_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
}

TEST(as_result, of_a_task_gives_values_that_can_only_be_moved) {
    run_virtually([]() -> task<> {
        const auto make = []() -> task<std::unique_ptr<int>> {
            co_return std::make_unique<int>(3);
        };
        auto r = co_await as_result(make());
        EXPECT_EQ(*r.value(), 3);
    });
}

TEST(as_result, sees_the_cancellation_of_a_leaf) {
    EXPECT_EQ(result_when_cancelled([] { return forever(); }), canceled);
    EXPECT_EQ(result_when_cancelled([] { return sleep_for(1h); }), canceled);
}

TEST(as_result, sees_the_cancellation_of_an_operation) {
    EXPECT_EQ(result_when_cancelled(&wait_for_ever), canceled);
    EXPECT_EQ(result_when_cancelled(&wait_for_ever_by_result), canceled);
}

TEST(as_result, sees_the_cancellation_of_a_task) {
    const auto work = []() -> task<> { co_await forever(); };
    EXPECT_EQ(result_when_cancelled(work), canceled);
    const auto nested = []() -> task<> { co_await wait_for_ever(); };
    EXPECT_EQ(result_when_cancelled(nested), canceled);
}

TEST(as_result, sees_the_cancellation_of_a_when_all) {
    EXPECT_EQ(result_when_cancelled([] { return when_all(forever(), wait_for_ever()); }), canceled);
}

TEST(as_result, sees_the_cancellation_of_a_with_timeout) {
    const auto slow = [] { return forever(); };
    EXPECT_EQ(result_when_cancelled([&] { return with_timeout(1h, slow); }), canceled);
}

TEST(operation, that_hands_on_a_cancelled_leaf_stops_the_task) {
    bool went_on = false;
    bool caught = false;
    run_virtually([&]() -> task<> {
        const auto inner = [&]() -> task<> {
            try {
                co_await wait_for_ever_by_result();
            } catch (...) {
                caught = true;
            }
            went_on = true;
        };
        co_await as_result(with_timeout(1ms, inner));
    });
    EXPECT_FALSE(went_on);
    EXPECT_FALSE(caught);
}

TEST(operation, throws_an_error_of_cancellation_that_is_not_ours) {
    // ECANCELED from below, while nobody has cancelled this task, is an error as any other.
    const auto work = []() -> task<std::expected<void, error>> {
        co_return std::unexpected(error(std::errc::operation_canceled, "other"));
    };
    EXPECT_THROW(run_virtually([&] { return operation<>(work()); }), exception);
}

TEST(operation, lets_exceptions_of_its_work_through) {
    const auto work = []() -> task<std::expected<void, error>> {
        throw std::logic_error("bug");
        co_return std::expected<void, error>();
    };
    EXPECT_THROW(run_virtually([&] { return operation<>(work()); }), std::logic_error);
}
