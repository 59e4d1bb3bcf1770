#pragma once

// The common part of the programs of bench/micro. Link allocations.cpp with them.
//
// A benchmark is named `what:who`; bench/micro.py makes a row of each, and holds whose name it
// knows against what is promised of it.

#include "allocations.hpp"

#include <coracle/runtime/runtime.hpp>

#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>

#if __has_include(<asio.hpp>)
#define ASIO_STANDALONE
#if defined(__clang__)  // older Asio knows coroutines of g++ only, though clang has the same
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <asio/experimental/channel.hpp>

#include <asio.hpp>
#define CORACLE_BENCH_ASIO 1
#else
#define CORACLE_BENCH_ASIO 0
#endif

namespace bench {

/// Makes of what is allocated from now on a column of the benchmark, for each of `items` that one
/// iteration works on. To be made once everything has been warmed up.
class allocation_column {
public:
    explicit allocation_column(benchmark::State& state, std::int64_t items = 1)
        : state_(state), items_(items), before_(allocations.load()) {}
    allocation_column(const allocation_column&) = delete;
    allocation_column& operator=(const allocation_column&) = delete;
    ~allocation_column() {
        const double all = static_cast<double>(state_.iterations()) * static_cast<double>(items_);
        state_.counters["allocations"] = static_cast<double>(allocations.load() - before_) / all;
        state_.counters["items"] = static_cast<double>(items_);
    }

private:
    benchmark::State& state_;
    std::int64_t items_;
    std::uint64_t before_;
};

/// A benchmark that is a coroutine on a loop of its own.
inline benchmark::internal::Benchmark* add(const char* name,
                                           coracle::task<> (*f)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(
        name, [f](benchmark::State& state) { coracle::block_on([&] { return f(state); }); });
}

/// One that is a plain function.
inline benchmark::internal::Benchmark* add(const char* name, void (*f)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(name, f);
}

/// The machine's own measure, twice: where these two differ, so may all the others.
inline void control(benchmark::State& state) {
    std::uint64_t x = 88172645463325252;
    for (auto _ : state) {
        for (int i = 0; i != 16; ++i) {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
        }
        benchmark::DoNotOptimize(x);
    }
}

#if CORACLE_BENCH_ASIO
/// One that is a coroutine of Asio's, on an io_context of its own.
inline benchmark::internal::Benchmark* add(const char* name,
                                           asio::awaitable<void> (*f)(benchmark::State&)) {
    return benchmark::RegisterBenchmark(name, [f](benchmark::State& state) {
        asio::io_context io{1};
        asio::co_spawn(io, f(state), asio::detached);
        io.run();
    });
}
#endif

/// Runs what has been added, and the control twice.
inline int run_all(int argc, char** argv) {
    add("control:A", control);
    add("control:B", control);
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
    benchmark::RunSpecifiedBenchmarks();
    benchmark::Shutdown();
    return 0;
}

}  // namespace bench
