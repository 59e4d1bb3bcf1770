// The number of HTTP exchanges a second in a simulated world, without faults and with all of them:
// bench_simulation_speed [SECONDS]

#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t clients = 16;
constexpr std::size_t exchanges_each = 25;

/// Keeps one connection busy until its requests have their responses or it breaks.
task<> ask(net::address to, std::uint64_t& responses) {
    peer p = co_await connect_peer(to);
    const std::string request = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
    const std::string end_of_head = "\r\n\r\n";
    for (std::size_t i = 0; i != exchanges_each; ++i) {
        co_await p.send(request);
        co_await p.read_until(end_of_head);
        co_await p.read_exactly(5);
        ++responses;
    }
}

/// A world with a server and its clients: how many exchanges were completed.
std::uint64_t run_world(std::uint64_t seed, bool faulty) {
    simulation_options o;
    o.seed = seed;
    if (faulty) o.faults = fault_options::every();
    simulation world(o);
    http::router routes;
    routes.get("/hello", [](http::request&) { return "hello"; });
    http::server_options options;
    options.listen = "127.0.0.1:80";
    http::server server(routes, options);
    server.open(world.loop());
    std::uint64_t responses = 0;
    std::size_t gone = 0;
    auto main = [&]() -> task<> {
        bool serving = true;
        spawn([&]() -> task<> {
            co_await as_result(server.run(world.loop()));
            serving = false;
        });
        for (std::size_t i = 0; i != clients; ++i) {
            spawn([&]() -> task<> {
                auto one = [&]() { return ask(server.addresses().front(), responses); };
                co_await as_result(with_timeout(5min, one));
                ++gone;
            });
        }
        while (gone != clients) co_await sleep_for(100ms);
        server.stop();
        while (serving) co_await sleep_for(100ms);
    };
    world.run(main);
    return responses;
}

void measure(const char* what, double seconds, bool faulty) {
    using clock = std::chrono::steady_clock;
    const auto began = clock::now();
    std::uint64_t responses = 0;
    std::uint64_t seed = 0;
    double took = 0;
    while (took < seconds) {
        responses += run_world(++seed, faulty);
        took = std::chrono::duration<double>(clock::now() - began).count();
    }
    std::printf("%s %.0f exchanges/s (%llu worlds)\n", what, static_cast<double>(responses) / took,
                static_cast<unsigned long long>(seed));
}

}  // namespace

int main(int argc, char** argv) {
    const double seconds = argc > 1 ? std::atof(argv[1]) : 2;
    measure("without faults:", seconds, false);
    measure("with every fault:", seconds, true);
}
