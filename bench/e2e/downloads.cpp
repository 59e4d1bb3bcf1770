// Downloads a URL COUNT times, CONCURRENCY at a time, and drops what comes, as limit/h2_client and
// h2load do:
//
//   downloads URL COUNT CONCURRENCY [CAFILE [http2]]
//
// CAFILE and `http2` as for client_calls.

#include "../support/spent.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
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

task<> download_together(http::client& client, const bench::calls_wanted& wanted,
                         download_counts& counts) {
    const auto block = [&](task_group& group) -> task<> {
        for (std::size_t i = 0; i < std::min(wanted.count, wanted.concurrency); ++i) {
            group.spawn([&] { return download(client, wanted.url, counts); });
        }
        co_return;
    };
    co_await with_task_group(block);
}

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv, " [CAFILE [http2]]");
    http::client_options options;
    if (argc > 4) options.certificates.authorities = argv[4];
    if (argc > 5) options.http_version = http::version_choice::http_2;
    http::pool_options pool;
    pool.streams = static_cast<unsigned>(wanted.concurrency);
    http::client client(options, pool);
    download_counts counts{.to_start = wanted.count};
    try {
        block_on([&] { return download_together(client, wanted, counts); });
    } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    std::printf("bytes %llu\n", static_cast<unsigned long long>(counts.bytes));
    return bench::report_calls(wanted.count, counts.ok, wanted.count - counts.ok);
}
