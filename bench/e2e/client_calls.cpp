// The calls of examples/*_parallel_get.cpp, over TLS too, and what the process grows by with them:
//
//   client_calls URL COUNT CONCURRENCY [CAFILE [http2]]
//
// CAFILE is empty for the authorities of the system. `http2`: over HTTP/2 alone, in clear with
// prior knowledge.
//
// Prints what it grew by, from the constructed client and its running loop to the end of the calls,
// while their connections are open.

#include "../support/spent.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <cstdio>

using namespace coracle;

namespace {

struct call_counts {
    std::size_t to_start;
    std::size_t ok = 0;
    std::size_t otherwise = 0;
};

task<> ask(http::client& client, const char* url, call_counts& counts) {
    while (counts.to_start != 0) {
        --counts.to_start;
        auto request = client.get(url);
        const auto response = co_await as_result(request.full());
        const bool ok = response && response->status == http::status::ok;
        ++(ok ? counts.ok : counts.otherwise);
        if (!response && counts.otherwise == 1)
            std::fprintf(stderr, "%s\n", response.error().message().c_str());
    }
}

task<> ask_together(http::client& client, const bench::calls_wanted& wanted, call_counts& counts) {
    const bench::growth since_now;
    const auto block = [&](task_group& group) -> task<> {
        for (std::size_t i = 0; i < std::min(wanted.count, wanted.concurrency); ++i) {
            group.spawn([&] { return ask(client, wanted.url, counts); });
        }
        co_return;
    };
    co_await with_task_group(block);
    since_now.print();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv, " [CAFILE [http2]]");
    http::client_options options;
    if (argc > 4) options.certificates.authorities = argv[4];
    if (argc > 5) options.http_version = http::version_choice::http_2;
    call_counts counts{.to_start = wanted.count};
    http::client client(options);
    block_on([&] { return ask_together(client, wanted, counts); });
    return bench::report_calls(wanted.count, counts.ok, counts.otherwise);
}
