#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/base/error.hpp>
#include <coracle/runtime/task.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using coracle::testing::run_virtually;
using coracle::testing::trace;

namespace {

task<int> give(int n) {
    co_return n;
}

task<> note(bool& ran) {
    ran = true;
    co_return;
}

task<std::unique_ptr<int>> give_pointer(int n) {
    co_return std::make_unique<int>(n);
}

task<int> fail() {
    throw std::runtime_error("no");
    co_return 1;
}

task<> fail_late(std::string& log) {
    const trace t(log, "inner");
    co_await yield();
    throw std::runtime_error("late");
}

task<std::size_t> depth(std::size_t n) {
    if (n == 0) co_return std::size_t{0};
    co_return 1 + co_await depth(n - 1);
}

task<> keep(trace) {
    co_return;
}

// clang warns; g++ does not.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wreturn-type"
task<std::string> name_of(int n) {
    if (n == 1) co_return "one";
    co_await yield();
}
#pragma GCC diagnostic pop

template <class F>
error failure_of(F block) {
    try {
        run_virtually(block);
    } catch (const exception& e) {
        return e.error();
    }
    return {};
}

}  // namespace

TEST(task, does_not_start_until_it_is_awaited) {
    bool ran = false;
    run_virtually([&]() -> task<> {
        auto t = note(ran);
        EXPECT_FALSE(ran);
        co_await yield();
        EXPECT_FALSE(ran);
        co_await std::move(t);
        EXPECT_TRUE(ran);
        EXPECT_FALSE(t);  // NOLINT(bugprone-use-after-move): an awaited task is empty
    });
}

TEST(task, gives_the_value_of_its_coroutine) {
    EXPECT_EQ(run_virtually([] { return give(7); }), 7);
    EXPECT_EQ(*run_virtually([] { return give_pointer(8); }), 8);
    const int sum = run_virtually([]() -> task<int> {
        const int a = co_await give(1);
        const auto b = co_await give_pointer(2);
        co_return a + *b;
    });
    EXPECT_EQ(sum, 3);
}

TEST(task, gives_a_value_that_has_no_default) {
    struct stubborn {
        explicit stubborn(int v) : value(v) {}
        int value;
    };
    const auto make = [](int v) -> task<stubborn> { co_return stubborn(v); };
    EXPECT_EQ(run_virtually([&] { return make(3); }).value, 3);
}

TEST(task, throws_what_its_coroutine_threw) {
    EXPECT_THROW(run_virtually([] { return fail(); }), std::runtime_error);
    const std::string caught = run_virtually([]() -> task<std::string> {
        try {
            co_await fail();
        } catch (const std::runtime_error& e) {
            co_return e.what();
        }
        co_return "nothing";
    });
    EXPECT_EQ(caught, "no");
}

TEST(task, fails_where_its_coroutine_ends_without_a_value) {
    EXPECT_EQ(run_virtually([] { return name_of(1); }), "one");
    EXPECT_EQ(failure_of([] { return name_of(2); }), errc::no_value);
    // A child's value is taken on another way.
    EXPECT_EQ(failure_of([]() -> task<> { co_await when_all(name_of(1), name_of(2)); }),
              errc::no_value);
}

TEST(task, unwinds_before_its_exception_is_seen) {
    std::string log;
    run_virtually([&]() -> task<> {
        try {
            co_await fail_late(log);
        } catch (const std::runtime_error&) {
            log += " caught";
        }
    });
    EXPECT_EQ(log, "inner caught");
}

TEST(task, that_never_starts_destroys_its_arguments_and_runs_nothing) {
    std::string log;
    {
        const auto t = keep(trace(log, "argument"));
    }
    EXPECT_EQ(log, "argument");
    bool ran = false;
    {
        auto t = note(ran);
        t.reset();
        EXPECT_FALSE(t);
        t = note(ran);
        t = note(ran);
        auto& same = t;
        t = std::move(same);
        EXPECT_TRUE(t);
    }
    EXPECT_FALSE(ran);
}

TEST(task, destroys_its_value_once) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto make = [&log]() -> task<trace> { co_return trace(log, "value"); };
        {
            const trace t = co_await make();
            EXPECT_EQ(log, "");
        }
        EXPECT_EQ(log, "value");
    });
    EXPECT_EQ(log, "value");
}

TEST(task, resumes_its_awaiter_in_the_same_turn) {
    run_virtually([]() -> task<> {
        const auto before = loop::current()->turns();
        for (int i = 0; i != 1000; ++i) co_await give(i);
        EXPECT_EQ(loop::current()->turns(), before);
    });
}

// Without optimisation, or under a sanitizer, g++ makes no tail calls: the stack would overflow.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
TEST(task, completes_a_million_times_without_growing_the_stack) {
    const int sum = run_virtually([]() -> task<int> {
        int n = 0;
        for (int i = 0; i != 1'000'000; ++i) n += co_await give(1);
        co_return n;
    });
    EXPECT_EQ(sum, 1'000'000);
}

TEST(task, awaits_a_hundred_thousand_frames_deep) {
    EXPECT_EQ(run_virtually([] { return depth(100'000); }), 100'000u);
}
#endif

TEST(task, awaits_a_thousand_frames_deep) {
    EXPECT_EQ(run_virtually([] { return depth(1000); }), 1000u);
}

TEST(task, of_a_number_returns_a_constant_of_another_type) {
    run_virtually([]() -> task<> {
        const auto size = []() -> task<std::size_t> { co_return 0; };
        const auto small = []() -> task<unsigned char> { co_return 200; };
        const auto truth = []() -> task<bool> { co_return true; };
        EXPECT_EQ(co_await size(), 0u);
        EXPECT_EQ(co_await small(), 200);
        EXPECT_TRUE(co_await truth());
    });
}

TEST(task, that_was_awaited_belongs_to_its_awaiter) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto make = [](std::string& out) -> task<> {
            const trace t(out, "frame");
            co_await yield();
        };
        task<> t = make(log);
        EXPECT_TRUE(static_cast<bool>(t));
        co_await std::move(t);
        EXPECT_FALSE(static_cast<bool>(t));  // NOLINT(bugprone-use-after-move)
        EXPECT_EQ(log, "frame");
        t.reset();  // harmless
        t = make(log);
        t.reset();  // never awaited: nothing ran
        EXPECT_EQ(log, "frame");
    });
}
