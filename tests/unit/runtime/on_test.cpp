#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::trace;

namespace {

/// Runs `f(there)` on the first of two loops, each on its own thread, of which the second is there.
template <class F>
void on_two_loops(F f) {
    runtime_options options;
    options.loops = 2;
    runtime rt(options);
    const auto main = [&](loop& l) -> task<> {
        if (l.index() == 0) {
            co_await f(rt.at(1));
            rt.stop();
        } else {
            co_await as_result(forever());
        }
    };
    rt.run(main);
}

unsigned here() {
    return loop::current()->index();
}

}  // namespace

TEST(on, runs_there_and_resumes_here_with_the_value) {
    on_two_loops([](loop& there) -> task<> {
        const auto work = []() -> task<std::string> {
            EXPECT_EQ(here(), 1u);
            co_await yield();
            EXPECT_EQ(here(), 1u);
            co_return "from " + std::to_string(here());
        };
        EXPECT_EQ(co_await on(there, work), "from 1");
        EXPECT_EQ(here(), 0u);
        const auto nothing = []() -> task<> { co_await sleep_for(1ms); };
        co_await on(there, nothing);
        auto p = co_await on(
            there, []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(5); });
        EXPECT_EQ(*p, 5);
        co_await on(there, [] { return sleep_for(1us); });
    });
}

TEST(on, may_be_the_same_loop) {
    coracle::testing::run_virtually([]() -> task<> {
        const auto work = []() -> task<int> {
            co_await sleep_for(1s);
            co_return 7;
        };
        EXPECT_EQ(co_await on(*loop::current(), work), 7);
    });
}

TEST(on, throws_here_what_is_thrown_there) {
    on_two_loops([](loop& there) -> task<> {
        const auto fails = []() -> task<int> {
            co_await yield();
            throw std::out_of_range("there");
        };
        std::string caught;
        try {
            co_await on(there, fails);
        } catch (const std::out_of_range& e) {
            caught = e.what();
        }
        EXPECT_EQ(caught, "there");
        const auto ours = []() -> task<> {
            throw_exception(error(std::errc::broken_pipe, "there"));
            co_return;
        };
        auto r = co_await as_result(on(there, ours));
        EXPECT_FALSE(r);
        EXPECT_EQ(r.error().operation(), "there");
        const auto no_task = []() -> task<> {
            if (loop::current() != nullptr) throw std::logic_error("no task");
            return [](int) -> task<> { co_return; }(1);
        };
        bool threw = false;
        try {
            co_await on(there, no_task);
        } catch (const std::logic_error&) {
            threw = true;
        }
        EXPECT_TRUE(threw);
    });
}

TEST(on, cancelled_here_unwinds_there_first) {
    on_two_loops([](loop& there) -> task<> {
        std::string log;
        event begun;
        loop& home = *loop::current();
        const auto waits = [&]() -> task<> {
            const trace t(log, "there");
            home.post([&] { begun.set(); });
            co_await forever();
            log += "went on";
        };
        const auto whole = [&]() -> task<> {
            const trace t(log, "here");
            co_await on(there, waits);
            log += "went on";
        };
        auto first = co_await when_any(whole(), begun.wait());
        EXPECT_EQ(first.index, 1u);
        EXPECT_EQ(log, "there here");

        begun.reset();
        const auto told = [&]() -> task<> {
            auto inner = co_await as_result(on(there, waits));
            EXPECT_TRUE(inner.error() == std::errc::operation_canceled);
            // It is sticky: nothing is begun there any more.
            auto again = co_await as_result(on(there, waits));
            EXPECT_TRUE(again.error() == std::errc::operation_canceled);
            log += " told";
        };
        co_await when_any(told(), begun.wait());
        EXPECT_EQ(log, "there here there told");
    });
}

TEST(on, cancelled_keeps_a_value_that_is_there) {
    on_two_loops([](loop& there) -> task<> {
        event begun;
        loop& home = *loop::current();
        const auto stubborn = [&]() -> task<int> {
            home.post([&] { begun.set(); });
            co_await as_result(forever());
            co_return 6;
        };
        int value = 0;
        const auto whole = [&]() -> task<> { value = co_await on(there, stubborn); };
        co_await when_any(whole(), begun.wait());
        EXPECT_EQ(value, 6);
    });
}

TEST(on, sees_the_deadline_from_here) {
    on_two_loops([](loop& there) -> task<> {
        const auto due = loop::current()->now() + 1h;
        const auto asks = []() -> task<time_point> { co_return co_await this_task::deadline(); };
        const auto whole = [&]() -> task<time_point> { co_return co_await on(there, asks); };
        EXPECT_EQ(co_await with_deadline(due, whole), due);
    });
}

TEST(on, destroys_frames_there_and_the_callable_here) {
    on_two_loops([](loop& there) -> task<> {
        struct where {
            unsigned* times;
            explicit where(unsigned* n) : times(n) {}
            where(const where&) = default;
            where& operator=(const where&) = delete;
            ~where() { ++times[here()]; }
        };
        unsigned frames[2] = {};
        unsigned callables[2] = {};
        const auto work = [held = where(callables), &frames]() -> task<> {
            const where local(frames);
            co_await yield();
        };
        co_await on(there, work);
        EXPECT_EQ(frames[0], 0u);
        EXPECT_EQ(frames[1], 1u);
        EXPECT_GE(callables[0], 1u);
        EXPECT_EQ(callables[1], 0u);
    });
}

TEST(on, a_thousand_at_a_time) {
    on_two_loops([](loop& there) -> task<> {
        std::vector<task<int>> all;
        const auto one = [](loop& l, int i) -> task<int> {
            auto work = [i]() -> task<int> {
                if (i % 2 == 0) co_await yield();
                co_return i;
            };
            co_return co_await on(l, work);
        };
        for (int i = 0; i != 1000; ++i) all.push_back(one(there, i));
        auto values = co_await when_all(std::move(all));
        for (int i = 0; i != 1000; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
    });
}

TEST(on, fails_when_the_other_loop_stops) {
    on_two_loops([](loop& there) -> task<> {
        event begun;
        loop& home = *loop::current();
        std::string log;
        const auto waits = [&]() -> task<> {
            const trace t(log, "unwound");
            home.post([&] { begun.set(); });
            co_await forever();
        };
        const auto stops = [&]() -> task<> {
            co_await begun.wait();
            there.stop();
        };
        const auto calls = [&]() -> task<> {
            auto r = co_await as_result(on(there, waits));
            EXPECT_FALSE(r);
            EXPECT_TRUE(r.error() == errc::shutting_down) << r.error();
        };
        co_await when_all(calls(), stops());
        EXPECT_EQ(log, "unwound");
        // It may be ending or have ended by now: either way nothing hangs.
        for (int i = 0; i != 100; ++i) {
            auto r = co_await as_result(on(there, waits));
            EXPECT_TRUE(r.error() == errc::shutting_down);
        }
    });
}

TEST(on, fails_when_the_other_loop_has_ended_before_it_came_to_it) {
    const logger silent;
    loop never(std::make_unique<coracle::testing::virtual_backend>(), silent);
    const bool over = true;
    never.run_until(over);
    coracle::testing::run_virtually([&]() -> task<> {
        auto r = co_await as_result(on(never, [] { return sleep_for(1s); }));
        EXPECT_TRUE(r.error() == errc::shutting_down);
        EXPECT_FALSE(spawn_on(never, [] { return sleep_for(1s); }));
    });
}

TEST(on, fails_when_the_runtime_of_the_other_loop_has_run) {
    runtime_options options;
    options.loops = 1;
    runtime there(options);
    const auto nothing = [](loop&) -> task<> { co_return; };
    there.run(nothing);
    block_on([&]() -> task<> {
        const auto work = []() -> task<int> { co_return 1; };
        const bool spawned = spawn_on(there.at(0), work);
        EXPECT_FALSE(spawned);
        if (spawned) co_return;  // the other would wait for ever
        auto r = co_await as_result(on(there.at(0), work));
        EXPECT_TRUE(r.error() == errc::shutting_down);
    });
}

TEST(on, cancelled_and_stopped_at_any_moment_never_hangs) {
    for (int round = 0; round != 200; ++round) {
        std::atomic<int> frames = 0;
        on_two_loops([&](loop& there) -> task<> {
            struct counted {
                std::atomic<int>& n;
                explicit counted(std::atomic<int>& c) : n(c) { ++n; }
                ~counted() { --n; }
            };
            const auto waits = [&]() -> task<> {
                const counted c(frames);
                for (int i = 0; i != 3; ++i) co_await yield();
            };
            const auto one = [&]() -> task<> { co_await as_result(on(there, waits)); };
            const auto several = [&]() -> task<> { co_await when_all(one(), one(), one()); };
            if (round % 3 == 0) there.stop();
            co_await as_result(with_timeout(1us * (round % 20), several));
        });
        EXPECT_EQ(frames.load(), 0);
    }
}

TEST(spawn_on, starts_a_task_on_another_loop) {
    on_two_loops([](loop& there) -> task<> {
        event done;
        loop& home = *loop::current();
        unsigned ran_on = 99;
        auto text = std::make_unique<std::string>("owned");
        EXPECT_TRUE(spawn_on(there, [&, text = std::move(text)]() -> task<> {
            co_await yield();
            EXPECT_EQ(*text, "owned");
            ran_on = here();
            home.post([&] { done.set(); });
        }));
        co_await done.wait();
        EXPECT_EQ(ran_on, 1u);
    });
}

TEST(spawn_on, works_from_a_plain_thread) {
    on_two_loops([](loop& there) -> task<> {
        event done;
        loop& home = *loop::current();
        std::thread plain([&] {
            spawn_on(there, [&]() -> task<> {
                co_await sleep_for(1us);
                home.post([&] { done.set(); });
            });
        });
        co_await done.wait();
        plain.join();
    });
}
