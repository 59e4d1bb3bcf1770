// Asks for one URL COUNT times, CONCURRENCY requests at a time, and says how many ended with 200:
//
//   parallel_get http://127.0.0.1:8080/ 50000 80

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>

#include <algorithm>
#include <cstdlib>
#include <iostream>

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
        if (!response && counts.otherwise == 1) std::cerr << response.error() << '\n';
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: parallel_get URL COUNT CONCURRENCY\n";
        return 2;
    }
    const std::size_t count = std::strtoul(argv[2], nullptr, 10);
    const std::size_t concurrency = std::strtoul(argv[3], nullptr, 10);
    call_counts counts{.to_start = count};
    http::client client;
    block_on([&]() -> task<> {
        const auto ask_together = [&](task_group& group) -> task<> {
            for (std::size_t i = 0; i < std::min(count, concurrency); ++i) {
                group.spawn([&] { return ask(client, argv[1], counts); });
            }
            co_return;
        };
        co_await with_task_group(ask_together);
    });
    std::cout << counts.ok << " of " << count << " ended with 200, " << counts.otherwise
              << " otherwise\n";
    return counts.ok == count ? 0 : 1;
}
