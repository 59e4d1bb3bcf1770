// The calls of examples/*_parallel_get.cpp, over TLS too, and what the process grows by with them:
//
//   client_calls URL COUNT CONCURRENCY [CAFILE [http2]]
//
// Prints what it grew by, from the constructed client and its running loop to the end of the calls,
// while their connections are open.

#include "../support/our_client.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>

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
    const auto one = [&] { return ask(client, wanted.url, counts); };
    co_await bench::run_together(wanted, one);
    since_now.print();
}

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted =
        bench::read_calls_wanted(argc, argv, bench::client_arguments);
    call_counts counts{.to_start = wanted.count};
    http::client client(bench::client_options_of(argc, argv));
    block_on([&] { return ask_together(client, wanted, counts); });
    return bench::report_calls(wanted.count, counts.ok, counts.otherwise);
}
