// The cost of timers while a million others are armed: the exact ones, which stand in a heap, and
// the deadlines of connections, which stand in a wheel. On a simulated loop, whose clock stands
// still.

#include "../support/micro.hpp"

#include <coracle/runtime/call_after.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/timer.hpp>
#include <coracle/testing/simulation.hpp>

#include <chrono>
#include <memory>
#include <random>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t live = 1'000'000;

struct exact final : detail::timer {
    void expired() noexcept override {}
};

struct coarse final : deadline {
    using deadline::deadline;
    void expired() noexcept override {}
};

// Evenly spread over an hour, from a fixed seed.
std::vector<duration> delays() {
    std::minstd_rand random{1};
    std::uniform_int_distribution<std::int64_t> spread(1, duration(1h).count());
    std::vector<duration> all(live);
    for (duration& d : all) d = duration(spread(random));
    return all;
}

std::vector<std::unique_ptr<coarse>> million_deadlines(loop& here,
                                                       const std::vector<duration>& after) {
    std::vector<std::unique_ptr<coarse>> all;
    all.reserve(live);
    for (const duration d : after) {
        all.push_back(std::make_unique<coarse>(here));
        all.back()->arm_in(d);
    }
    return all;
}

// One more than a million is armed and disarmed, at a time among theirs.
void heap_arm_disarm(benchmark::State& state) {
    const auto after = delays();
    std::vector<exact> timers(live);
    detail::timer_heap heap;
    const time_point start{};
    for (std::size_t i = 0; i != live; ++i) heap.arm(timers[i], start + after[i]);
    exact one;
    std::size_t next = 0;
    heap.arm(one, start);
    heap.disarm(one);
    {
        const bench::allocation_column column(state);
        for (auto _ : state) {
            heap.arm(one, start + after[next]);
            heap.disarm(one);
            if (++next == live) next = 0;
        }
    }
}

// Each of the million in turn is moved to another time, which goes through all of their memory.
void heap_move(benchmark::State& state) {
    const auto after = delays();
    std::vector<exact> timers(live);
    detail::timer_heap heap;
    const time_point start{};
    for (std::size_t i = 0; i != live; ++i) heap.arm(timers[i], start + after[i]);
    std::size_t next = 0;
    {
        const bench::allocation_column column(state);
        for (auto _ : state) {
            heap.disarm(timers[next]);
            heap.arm(timers[next], start + after[live - 1 - next]);
            if (++next == live) next = 0;
        }
    }
}

// A million are armed, and all of them fire.
void heap_fire(benchmark::State& state) {
    const auto after = delays();
    std::vector<exact> timers(live);
    detail::timer_heap heap;
    const time_point start{};
    for (std::size_t i = 0; i != live; ++i) heap.arm(timers[i], start + after[i]);
    heap.fire(start + 1h);
    {
        const bench::allocation_column column(state, live);
        for (auto _ : state) {
            for (std::size_t i = 0; i != live; ++i) heap.arm(timers[i], start + after[i]);
            heap.fire(start + 1h);
        }
    }
    if (!heap.empty()) state.SkipWithError("not all have fired");
}

benchmark::internal::Benchmark* add_simulated(const char* name, task<> (*f)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(name, [f](benchmark::State& state) {
        testing::simulation world;
        world.run([&] { return f(state); });
    });
}

task<> wheel_arm_disarm(benchmark::State& state) {
    const auto after = delays();
    const auto all = million_deadlines(*loop::current(), after);
    std::size_t next = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        all[next]->disarm();
        all[next]->arm_in(after[next] + 1s);
        if (++next == live) next = 0;
    }
    co_return;
}

// A connection that comes and goes: its deadline enters the wheel and leaves it.
task<> wheel_enter_leave(benchmark::State& state) {
    const auto after = delays();
    const auto all = million_deadlines(*loop::current(), after);
    std::size_t next = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        coarse one(*loop::current());
        one.arm_in(after[next]);
        if (++next == live) next = 0;
    }
    co_return;
}

// Time passes by an hour in 100 steps, and all that are armed fire.
task<> wheel_fire(benchmark::State& state) {
    const auto after = delays();
    const auto all = million_deadlines(*loop::current(), after);
    detail::deadline_wheel& wheel = loop::current()->deadlines();
    time_point now = loop::current()->now();
    const auto pass_an_hour = [&] {
        for (int i = 0; i <= 100; ++i) wheel.advance(now += 37s);
    };
    pass_an_hour();
    const bench::allocation_column column(state, live);
    for (auto _ : state) {
        for (std::size_t i = 0; i != live; ++i) all[i]->arm(now + after[i]);
        pass_an_hour();
    }
    for (const auto& d : all) {
        if (d->armed()) state.SkipWithError("not all have fired");
    }
    co_return;
}

/// A turn of the loop, in which a cancelled timer is cleared away, serves so many.
constexpr std::size_t of_a_turn = 128;

// The call that users make, on a loop that runs, with a million others pending.
task<> call_after_cancel(benchmark::State& state) {
    const auto after = delays();
    const auto nothing = [] {};
    std::vector<delayed_call> calls;
    calls.reserve(live);
    for (const duration d : after) calls.push_back(call_after(d, nothing));
    std::size_t next = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        auto one = call_after(after[next], nothing);
        one.cancel();
        if (next % of_a_turn == 0) co_await yield();
        if (++next == live) next = 0;
    }
    co_return;
}

#if CORACLE_BENCH_ASIO

// Cancelling delivers a completion, which is a part of what a timer costs there.
void asio_arm_cancel(benchmark::State& state) {
    const auto after = delays();
    asio::io_context io{1};
    const auto ignore = [](const asio::error_code&) {};
    std::vector<asio::steady_timer> timers;
    timers.reserve(live);
    for (const duration d : after) {
        timers.emplace_back(io, d + 1h);
        timers.back().async_wait(ignore);
    }
    asio::steady_timer one(io);
    std::size_t next = 0;
    {
        const bench::allocation_column column(state);
        for (auto _ : state) {
            one.expires_after(after[next] + 1h);
            one.async_wait(ignore);
            one.cancel();
            if (next % of_a_turn == 0) io.poll();
            if (++next == live) next = 0;
        }
    }
}

#endif

}  // namespace

int main(int argc, char** argv) {
    bench::add("timer_arm_disarm_1e6_live:coracle", heap_arm_disarm);
    bench::add("timer_move_1e6_live:coracle", heap_move);
    bench::add("timer_arm_fire_1e6_live:coracle", heap_fire)->Unit(benchmark::kMillisecond);
    add_simulated("deadline_move_1e6_live:coracle", wheel_arm_disarm);
    add_simulated("deadline_enter_leave_1e6_live:coracle", wheel_enter_leave);
    add_simulated("deadline_arm_fire_1e6_live:coracle", wheel_fire)->Unit(benchmark::kMillisecond);
    bench::add("call_after_cancel_1e6_live:coracle", call_after_cancel);
#if CORACLE_BENCH_ASIO
    bench::add("call_after_cancel_1e6_live:asio", asio_arm_cancel);
#endif
    return bench::run_all(argc, argv);
}
