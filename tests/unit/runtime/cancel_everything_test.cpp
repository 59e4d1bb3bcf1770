#include "support/cancel_everywhere.hpp"

#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/on.hpp>
#include <coracle/runtime/readiness.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/this_task.hpp>
#include <coracle/runtime/ticker.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

// The table of what can be awaited, each cancelled at every point where it may wait. The names are
// those of docs/reference.md; scripts/check_operations.py finds what is missing here or there.

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

task<> wait_twice() {
    co_await yield();
    co_await sleep_for(2us);
}

task<int> wait_and_give() {
    co_await wait_twice();
    co_return 5;
}

task<std::expected<int, error>> work_of_operation() {
    co_return co_await wait_and_give();
}

struct task_row : cancel_row {
    static constexpr bool again = true;  // made anew
    task<int> make() { return wait_and_give(); }
};

struct operation_row : cancel_row {
    static constexpr bool again = true;
    operation<int> make() { return operation<int>(work_of_operation()); }
};

struct as_result_row : cancel_row {
    static constexpr bool stubborn = true;  // it goes on, which is what it is for
    static task<> take() {
        auto first = co_await as_result(wait_and_give());
        auto second = co_await as_result(operation<int>(work_of_operation()));
        static_cast<void>(first.has_value() && second.has_value());
    }
    task<> make() { return take(); }
};

struct sleep_for_row : cancel_row {
    static constexpr bool again = true;
    auto make() { return sleep_for(4us); }
};

struct sleep_until_row : cancel_row {
    static constexpr bool again = true;
    auto make() { return sleep_until(loop::current()->now() + 4us); }
};

struct yield_row : cancel_row {
    static constexpr bool again = true;
    auto make() { return yield(); }
};

struct this_task_yield_row : cancel_row {
    static constexpr bool again = true;
    auto make() { return this_task::yield(); }
};

struct forever_row : cancel_row {
    static constexpr bool endless = true;
    auto make() { return forever(); }
};

struct event_row : cancel_row {
    static constexpr bool again = true;
    event e;
    auto make() { return e.wait(); }
    task<> help() {
        co_await turns(4);
        e.set();
    }
};

struct tick_row : cancel_row {
    static constexpr bool again = true;
    ticker t = every(5us);
    auto make() { return t.next(); }
};

struct pipe_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool again = true;
    int ends[2] = {-1, -1};
    task<> prepare() {
        if (::pipe(ends) != 0) ADD_FAILURE() << "pipe";
        co_return;
    }
    task<> finish() {
        ::close(ends[0]);
        ::close(ends[1]);
        co_return;
    }
};

struct readable_row : pipe_row {
    auto make() { return readable(ends[0]); }
    task<> help() {
        co_await turns(4);
        EXPECT_EQ(::write(ends[1], "x", 1), 1);
    }
};

struct writable_row : pipe_row {
    std::string page = std::string(4096, 'x');
    task<> prepare() {
        co_await pipe_row::prepare();
        for (int i = 0; i != 16; ++i) EXPECT_EQ(::write(ends[1], page.data(), page.size()), 4096);
    }
    auto make() { return writable(ends[1]); }
    task<> help() {
        co_await turns(4);
        EXPECT_EQ(::read(ends[0], page.data(), page.size()), 4096);
    }
};

struct signal_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool again = true;
    signal_set set{SIGUSR2};
    auto make() { return set.next(); }
    task<> help() {
        co_await turns(4);
        ::raise(SIGUSR2);
    }
    task<> finish() {
        // One that a cancelled wait has left.
        ::raise(SIGUSR2);
        EXPECT_EQ(co_await set.next(), SIGUSR2);
    }
};

struct received_signal_row : signal_row {
    auto make() { return set.next_received(); }
};

struct when_all_row : cancel_row {
    auto make() { return when_all(wait_and_give(), sleep_for(3us), yield()); }
};

struct when_all_range_row : cancel_row {
    static std::vector<sleep_operation> members() {
        std::vector<sleep_operation> all;
        for (int i = 0; i != 4; ++i) all.push_back(sleep_for(1us * i));
        return all;
    }
    auto make() { return when_all(members()); }
};

struct when_any_row : cancel_row {
    auto make() { return when_any(wait_and_give(), forever(), sleep_for(9us)); }
};

struct when_any_range_row : cancel_row {
    static std::vector<task<int>> members() {
        std::vector<task<int>> all;
        for (int i = 0; i != 3; ++i) all.push_back(wait_and_give());
        return all;
    }
    auto make() { return when_any(members()); }
};

struct when_any_results_row : cancel_row {
    auto make() { return when_any_results(wait_and_give(), forever(), sleep_for(9us)); }
};

struct when_any_results_range_row : cancel_row {
    auto make() { return when_any_results(when_any_range_row::members()); }
};

struct with_timeout_row : cancel_row {
    auto make() { return with_timeout(1s, wait_and_give()); }
};

struct with_deadline_row : cancel_row {
    auto make() { return with_deadline(loop::current()->now() + 1s, wait_and_give()); }
};

struct shielded_row : cancel_row {
    static constexpr bool stubborn = true;
    auto make() { return shielded(1s, wait_and_give()); }
};

struct group_row : cancel_row {
    static task<> run(task_group& g) {
        g.spawn(&wait_twice);
        g.spawn([] { return sleep_for(4us); });
        co_await yield();
    }
    auto make() { return with_task_group(&run); }
};

struct limited_group_row : cancel_row {
    static task<> run(task_group& g) {
        auto work = [] { return sleep_for(2us); };
        for (int i = 0; i != 4; ++i) co_await g.spawn_when_free(work);
    }
    auto make() { return with_task_group(2, &run); }
};

/// In a group that stands beside the task that is cancelled.
struct spawn_when_free_row : cancel_row {
    static constexpr bool again = true;
    task_group* group = nullptr;
    event open;
    event over;
    event closed;
    task<> prepare() {
        spawn([this] { return keep_open(); });
        co_await open.wait();
    }
    task<> keep_open() {
        const auto block = [this](task_group& g) -> task<> {
            group = &g;
            g.spawn([] { return sleep_for(4us); });
            open.set();
            co_await over.wait();
        };
        co_await with_task_group(1, block);
        closed.set();
    }
    static yield_operation work() { return yield(); }
    auto make() { return group->spawn_when_free(&work); }
    task<> finish() {
        over.set();
        co_await closed.wait();
    }
};

struct async_generator_row : cancel_row {
    static async_generator<int> count() {
        for (int i = 0;; ++i) {
            co_await wait_twice();
            co_yield i;
        }
    }
    async_generator<int> numbers = count();
    auto make() { return numbers.next(); }
    task<> finish() {
        // It goes on where it was, or has ended with the step that was cancelled.
        auto n = co_await numbers.next();
        EXPECT_EQ(n.value_or(1), 1);
    }
};

struct on_row : cancel_row {
    static constexpr bool again = true;
    auto make() { return on(*loop::current(), &wait_and_give); }
};

constexpr cancel_case cases[] = {
    row<task_row>("task<T>"),
    row<operation_row>("operation<T>"),
    row<as_result_row>("as_result(op)"),
    row<sleep_for_row>("sleep_for(d)"),
    row<sleep_until_row>("sleep_until(t)"),
    row<yield_row>("yield()"),
    row<this_task_yield_row>("this_task::yield()"),
    row<forever_row>("forever()"),
    row<event_row>("event::wait()"),
    row<tick_row>("ticker::next()"),
    row<readable_row>("readable(fd)"),
    row<writable_row>("writable(fd)"),
    row<signal_row>("signal_set::next()"),
    row<received_signal_row>("signal_set::next_received()"),
    row<when_all_row>("when_all(a, b, ...)"),
    row<when_all_range_row>("when_all(range)"),
    row<when_any_row>("when_any(a, b, ...)"),
    row<when_any_range_row>("when_any(range)"),
    row<when_any_results_row>("when_any_results(a, b, ...)"),
    row<when_any_results_range_row>("when_any_results(range)"),
    row<with_timeout_row>("with_timeout(d, f)"),
    row<with_deadline_row>("with_deadline(t, f)"),
    row<shielded_row>("shielded(d, f)"),
    row<group_row>("with_task_group(f)"),
    row<limited_group_row>("with_task_group(n, f)"),
    row<spawn_when_free_row>("task_group::spawn_when_free(f)"),
    row<async_generator_row>("async_generator::next()"),
    row<on_row>("on(loop, f)"),
};

class cancelled_at_every_point : public ::testing::TestWithParam<cancel_case> {};

}  // namespace

TEST_P(cancelled_at_every_point, unwinds_and_loses_nothing) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(runtime, cancelled_at_every_point, ::testing::ValuesIn(cases),
                         [](const auto& i) { return test_name(i.param.name); });
