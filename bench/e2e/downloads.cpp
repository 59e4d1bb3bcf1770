// Downloads a URL COUNT times, CONCURRENCY at a time, and drops what comes, as limit/h2_client and
// h2load do:
//
//   downloads URL COUNT CONCURRENCY [CAFILE [http2]]

#include "../support/our_client.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstdio>

using namespace coracle;

namespace {

struct download_counts {
    std::size_t to_start;
    std::size_t ok = 0;
    std::uint64_t bytes = 0;
};

task<> download(http::client& client, const char* url, download_counts& counts) {
    while (counts.to_start != 0) {
        --counts.to_start;
        auto response = co_await client.get(url);
        for (;;) {
            const std::string_view piece = co_await response.read();
            if (piece.empty()) break;
            counts.bytes += piece.size();
        }
        if (response.status() == http::status::ok) ++counts.ok;
    }
}

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted =
        bench::read_calls_wanted(argc, argv, bench::client_arguments);
    http::pool_options pool;
    pool.streams = static_cast<unsigned>(wanted.concurrency);
    http::client client(bench::client_options_of(argc, argv), pool);
    download_counts counts{.to_start = wanted.count};
    try {
        const auto one = [&] { return download(client, wanted.url, counts); };
        block_on([&] { return bench::run_together(wanted, one); });
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::printf("bytes %llu\n", static_cast<unsigned long long>(counts.bytes));
    return bench::report_calls(wanted.count, counts.ok, wanted.count - counts.ok);
}
