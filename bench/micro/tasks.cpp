// The cost of tasks: making, awaiting, switching, starting, joining and failing.

#include "../support/micro.hpp"

#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/semaphore.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>

#include <stdexcept>
#include <vector>

using namespace coracle;

namespace {

constexpr int crowd = 1000;
constexpr int share = 128;  // switches between two looks at the benchmark's own clock

[[gnu::noinline]] task<int> give(int value) {
    co_return value;
}

task<> create_await(benchmark::State& state) {
    int sum = co_await give(0);
    const bench::allocation_column column(state);
    for (auto _ : state) sum += co_await give(1);
    benchmark::DoNotOptimize(sum);
}

[[gnu::noinline]] task<int> descend(int depth) {
    if (depth == 0) co_return 1;
    co_return 1 + co_await descend(depth - 1);
}

task<> chain(benchmark::State& state) {
    int sum = co_await descend(9);
    const bench::allocation_column column(state, 10);
    for (auto _ : state) sum += co_await descend(9);
    benchmark::DoNotOptimize(sum);
}

// Two tasks that wake each other: each gives the other's permit and waits for its own.
task<> pass_permits(semaphore& own, semaphore& other, const bool& over) {
    while (!over) {
        co_await own.acquire();
        other.release();
    }
}

task<> switch_semaphore(benchmark::State& state) {
    semaphore mine{0};
    semaphore yours{0};
    bool over = false;
    spawn([&] { return pass_permits(yours, mine, over); });
    co_await yield();
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) {
            for (int i = 0; i != share / 2; ++i) {
                yours.release();
                co_await mine.acquire();
            }
        }
    }
    over = true;
    yours.release();
    co_await yield();
    co_await yield();
}

task<> pass_events(event& own, event& other, const bool& over) {
    while (!over) {
        co_await own.wait();
        own.reset();
        other.set();
    }
}

task<> switch_event(benchmark::State& state) {
    event mine;
    event yours;
    bool over = false;
    spawn([&] { return pass_events(yours, mine, over); });
    co_await yield();
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) {
            for (int i = 0; i != share / 2; ++i) {
                yours.set();
                co_await mine.wait();
                mine.reset();
            }
        }
    }
    over = true;
    yours.set();
    co_await yield();
    co_await yield();
}

task<> yield_until(const bool& over) {
    while (!over) co_await yield();
}

// With n tasks that yield, one turn of the loop, with its system call, makes n switches.
task<> switch_yield(benchmark::State& state) {
    const std::int64_t tasks = state.range(0);
    bool over = false;
    for (std::int64_t i = 1; i < tasks; ++i) spawn([&] { return yield_until(over); });
    co_await yield();
    {
        const bench::allocation_column column(state, tasks);
        for (auto _ : state) co_await yield();
    }
    over = true;
    co_await yield();
    co_await yield();
}

async_generator<int> count() {
    for (int i = 0;; ++i) co_yield i;
}

// To the generator and back: two switches without the loop.
task<> switch_generator(benchmark::State& state) {
    auto numbers = count();
    int sum = 0;
    const bench::allocation_column column(state, 2);
    for (auto _ : state) {
        auto next = co_await numbers.next();
        sum += *next;
    }
    benchmark::DoNotOptimize(sum);
}

task<> end_at_once() {
    co_return;
}

task<> spawn_many(benchmark::State& state) {
    for (int i = 0; i != crowd; ++i) spawn(end_at_once);
    co_await yield();
    const bench::allocation_column column(state, crowd);
    for (auto _ : state) {
        for (int i = 0; i != crowd; ++i) spawn(end_at_once);
        co_await yield();
    }
}

task<> join_many(benchmark::State& state) {
    const bench::allocation_column column(state, crowd);
    for (auto _ : state) {
        std::vector<task<int>> tasks;
        tasks.reserve(crowd);
        for (int i = 0; i != crowd; ++i) tasks.push_back(give(i));
        auto all = co_await when_all(std::move(tasks));
        benchmark::DoNotOptimize(all.data());
    }
}

operation<int> refuse() {
    return std::expected<int, error>(std::unexpected(error(std::errc::broken_pipe, "refuse")));
}

task<> as_result_of_failure(benchmark::State& state) {
    int failed = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        auto r = co_await as_result(refuse());
        failed += r ? 0 : 1;
    }
    benchmark::DoNotOptimize(failed);
}

task<> throw_of_failure(benchmark::State& state) {
    int failed = 0;
    const bench::allocation_column column(state);
    for (auto _ : state) {
        try {
            co_await refuse();
        } catch (const exception&) {
            ++failed;
        }
    }
    benchmark::DoNotOptimize(failed);
}

#if CORACLE_BENCH_ASIO

[[gnu::noinline]] asio::awaitable<int> asio_give(int value) {
    co_return value;
}

asio::awaitable<void> asio_create_await(benchmark::State& state) {
    int sum = co_await asio_give(0);
    const bench::allocation_column column(state);
    for (auto _ : state) sum += co_await asio_give(1);
    benchmark::DoNotOptimize(sum);
}

[[gnu::noinline]] asio::awaitable<int> asio_descend(int depth) {
    if (depth == 0) co_return 1;
    co_return 1 + co_await asio_descend(depth - 1);
}

asio::awaitable<void> asio_chain(benchmark::State& state) {
    int sum = co_await asio_descend(9);
    const bench::allocation_column column(state, 10);
    for (auto _ : state) sum += co_await asio_descend(9);
    benchmark::DoNotOptimize(sum);
}

asio::awaitable<void> asio_post_until(const bool& over) {
    while (!over) co_await asio::post(asio::use_awaitable);
}

// Two coroutines that stand back for each other by `post`, which is the cheapest that Asio has.
asio::awaitable<void> asio_switch_post(benchmark::State& state) {
    bool over = false;
    asio::co_spawn(co_await asio::this_coro::executor, asio_post_until(over), asio::detached);
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) {
            for (int i = 0; i != share / 2; ++i) co_await asio::post(asio::use_awaitable);
        }
    }
    over = true;
    co_await asio::post(asio::use_awaitable);
    co_await asio::post(asio::use_awaitable);
}

asio::awaitable<void> asio_end_at_once() {
    co_return;
}

asio::awaitable<void> asio_spawn(benchmark::State& state) {
    const auto here = co_await asio::this_coro::executor;
    const bench::allocation_column column(state, crowd);
    for (auto _ : state) {
        for (int i = 0; i != crowd; ++i) asio::co_spawn(here, asio_end_at_once(), asio::detached);
        co_await asio::post(asio::use_awaitable);
    }
}

#endif

}  // namespace

int main(int argc, char** argv) {
    bench::add("create_await:coracle", create_await);
    bench::add("chain_of_10:coracle", chain);
    bench::add("switch_semaphore:coracle", switch_semaphore);
    bench::add("switch_event:coracle", switch_event);
    bench::add("switch_yield:coracle", switch_yield)->Arg(2)->Arg(crowd);
    bench::add("switch_generator:coracle", switch_generator);
    bench::add("spawn:coracle", spawn_many);
    bench::add("when_all_of_1000:coracle", join_many);
    bench::add("failure_as_result:coracle", as_result_of_failure);
    bench::add("failure_thrown:coracle", throw_of_failure);
#if CORACLE_BENCH_ASIO
    bench::add("create_await:asio", asio_create_await);
    bench::add("chain_of_10:asio", asio_chain);
    bench::add("switch_post:asio", asio_switch_post);
    bench::add("spawn:asio", asio_spawn);
#endif
    return bench::run_all(argc, argv);
}
