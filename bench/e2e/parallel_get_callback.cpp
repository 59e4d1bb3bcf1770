// The calls of examples/*_parallel_get.cpp without coroutines: this thread starts them all at once,
// the client's own makes them and calls back; the pool says how many are on the wire.
//
//   parallel_get_callback URL COUNT CONCURRENCY

#include "../support/spent.hpp"

#include <coracle/http/client.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <ctime>

using namespace coracle;

namespace {

double thread_cpu_us() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

struct call_counts {
    std::atomic<std::size_t> ok = 0;
    std::atomic<std::size_t> otherwise = 0;
};

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv);
    const auto connections =
        static_cast<unsigned>(std::min(wanted.concurrency, bench::pool_connections));
    call_counts counts;
    double starting = 0;
    {
        http::client client({}, {.connections_per_host = connections});
        const double before = thread_cpu_us();
        for (std::size_t i = 0; i != wanted.count; ++i) {
            client.get(wanted.url)
                .start(
                    [&counts](const std::expected<http::full_response, error>& response) {
                        const bool ok = response && response->status == http::status::ok;
                        ++(ok ? counts.ok : counts.otherwise);
                    },
                    callback_on::loop);
        }
        starting = thread_cpu_us() - before;
        client.stop(std::chrono::minutes(2));
    }
    std::printf("starting %.3f us each\n", starting / static_cast<double>(wanted.count));
    return bench::report_calls(wanted.count, counts.ok, counts.otherwise);
}
