// The cost of handing something over: by channels within a loop and across two, by posting to a
// loop from a thread, and to a thread pool and back.

#include "../support/micro.hpp"

#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/sleep.hpp>

#include <atomic>
#include <thread>

using namespace coracle;

namespace {

constexpr int share = 128;

task<> send_on_and_on(channel<int> to) {
    for (int i = 0;; ++i) {
        auto sent = co_await as_result(to.send(i));
        if (!sent) co_return;
    }
}

// A producer and a consumer on one loop: values a second through a channel with this much room.
task<> within_loop(benchmark::State& state) {
    channel<int> values(static_cast<std::size_t>(state.range(0)));
    spawn([values] { return send_on_and_on(values); });
    co_await yield();
    for (int i = 0; i != share; ++i) co_await values.receive();
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) {
            for (int i = 0; i != share; ++i) co_await values.receive();
        }
    }
    values.close();
    while (co_await values.receive()) continue;
}

// Sends values back, through two channels.
task<> send_back(channel<int> from, channel<int> to) {
    while (auto value = co_await from.receive()) co_await to.send(*value);
}

task<> round_trip_within(benchmark::State& state) {
    channel<int> there(1);
    channel<int> back(1);
    spawn([there, back] { return send_back(there, back); });
    co_await yield();
    {
        const bench::allocation_column column(state);
        for (auto _ : state) {
            co_await there.send(1);
            co_await back.receive();
        }
    }
    there.close();
    co_await yield();
}

// Runs `f` on the first of two loops and `g` on the second, each on a core of its own. The thread
// of the first is a new one too, so that being pinned is over when it ends.
template <class F, class G>
void on_two_loops(F f, G g) {
    runtime_options options;
    options.loops = 2;
    options.pin = true;
    runtime both(options);
    std::thread first(
        [&] { both.run([&](loop& l) -> task<> { return l.index() == 0 ? f() : g(); }); });
    first.join();
}

void across_loops(benchmark::State& state) {
    channel<int> values(static_cast<std::size_t>(state.range(0)));
    on_two_loops(
        [&]() -> task<> {
            for (int i = 0; i != share; ++i) co_await values.receive();
            {
                const bench::allocation_column column(state, share);
                for (auto _ : state) {
                    for (int i = 0; i != share; ++i) co_await values.receive();
                }
            }
            values.close();
        },
        [&] { return send_on_and_on(values); });
}

void round_trip_across(benchmark::State& state) {
    channel<int> there(1);
    channel<int> back(1);
    on_two_loops(
        [&]() -> task<> {
            for (int i = 0; i != share; ++i) {
                co_await there.send(1);
                co_await back.receive();
            }
            {
                const bench::allocation_column column(state);
                for (auto _ : state) {
                    co_await there.send(1);
                    co_await back.receive();
                }
            }
            there.close();
        },
        [&] { return send_back(there, back); });
}

// A plain thread posts functions to a loop, and after each 128 waits until they have run.
void post_from_thread(benchmark::State& state) {
    runtime_options options;
    options.loops = 1;
    runtime one(options);
    loop& there = one.at(0);
    std::thread other([&] { one.run([](loop&) -> task<> { co_await forever(); }); });
    std::atomic<std::int64_t> ran{0};
    std::int64_t posted = 0;
    const auto post_share = [&] {
        for (int i = 0; i != share; ++i)
            there.post([&] {
                ran.fetch_add(1);
                ran.notify_one();
            });
        posted += share;
        for (std::int64_t now = ran.load(); now != posted; now = ran.load()) ran.wait(now);
    };
    post_share();
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) post_share();
    }
    there.stop();
    other.join();
}

task<> offload_round_trip(benchmark::State& state) {
    thread_pool pool({.threads = 1});
    const auto work = [] { return 1; };
    int sum = co_await offload(pool, work);
    {
        const bench::allocation_column column(state);
        for (auto _ : state) sum += co_await offload(pool, work);
    }
    benchmark::DoNotOptimize(sum);
}

#if CORACLE_BENCH_ASIO

using asio_channel = asio::experimental::channel<void(asio::error_code, int)>;

asio::awaitable<void> asio_send_on_and_on(asio_channel& to) {
    for (int i = 0;; ++i) {
        asio::error_code failed;
        co_await to.async_send({}, i, asio::redirect_error(asio::use_awaitable, failed));
        if (failed) co_return;
    }
}

asio::awaitable<void> asio_within_loop(benchmark::State& state) {
    const auto here = co_await asio::this_coro::executor;
    asio_channel values(here, static_cast<std::size_t>(state.range(0)));
    asio::co_spawn(here, asio_send_on_and_on(values), asio::detached);
    for (int i = 0; i != share; ++i) co_await values.async_receive(asio::use_awaitable);
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) {
            for (int i = 0; i != share; ++i) co_await values.async_receive(asio::use_awaitable);
        }
    }
    values.close();
    for (int i = 0; i != 4; ++i) co_await asio::post(asio::use_awaitable);
}

void asio_post_from_thread(benchmark::State& state) {
    asio::io_context there;
    auto work = asio::make_work_guard(there);
    std::thread other([&] { there.run(); });
    std::atomic<std::int64_t> ran{0};
    std::int64_t posted = 0;
    const auto post_share = [&] {
        for (int i = 0; i != share; ++i) {
            asio::post(there, [&] {
                ran.fetch_add(1);
                ran.notify_one();
            });
        }
        posted += share;
        for (std::int64_t now = ran.load(); now != posted; now = ran.load()) ran.wait(now);
    };
    post_share();
    {
        const bench::allocation_column column(state, share);
        for (auto _ : state) post_share();
    }
    there.stop();
    other.join();
}

asio::awaitable<void> asio_offload_round_trip(benchmark::State& state) {
    asio::thread_pool pool{1};
    const auto here = co_await asio::this_coro::executor;
    const auto there = pool.get_executor();
    {
        const bench::allocation_column column(state);
        for (auto _ : state) {
            co_await asio::post(asio::bind_executor(there, asio::use_awaitable));
            co_await asio::post(asio::bind_executor(here, asio::use_awaitable));
        }
    }
}

#endif

}  // namespace

int main(int argc, char** argv) {
    bench::add("channel_one_loop:coracle", within_loop)->Arg(1)->Arg(64);
    bench::add("channel_round_trip_one_loop:coracle", round_trip_within);
    bench::add("channel_two_loops:coracle", across_loops)->Arg(64)->Arg(1024)->UseRealTime();
    bench::add("channel_round_trip_two_loops:coracle", round_trip_across)->UseRealTime();
    bench::add("post_from_thread:coracle", post_from_thread)->UseRealTime();
    bench::add("offload_round_trip:coracle", offload_round_trip)->UseRealTime();
#if CORACLE_BENCH_ASIO
    bench::add("channel_one_loop:asio", asio_within_loop)->Arg(1)->Arg(64);
    bench::add("post_from_thread:asio", asio_post_from_thread)->UseRealTime();
    bench::add("offload_round_trip:asio", asio_offload_round_trip)->UseRealTime();
#endif
    return bench::run_all(argc, argv);
}
