// The twin of blocking_twin on Coracle: coro_twin [ADDRESS] [LOOPS]
//
//   GET /repeat?count=N    responds with N bytes 'x'
//   GET /sleep?ms=N        sleeps N milliseconds, then responds

#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstdlib>

using namespace coracle;

namespace {

constexpr std::size_t most_bytes = 1 << 20;
constexpr int most_milliseconds = 10'000;

http::response repeat(http::request& req) {
    const auto count = req.query<std::size_t>("count", 1);
    if (count > most_bytes) throw http::status_error(http::status::bad_request, "too many\n");
    return std::string(count, 'x');
}

task<http::response> sleep_and_respond(http::request& req) {
    const int ms = req.query<int>("ms");
    if (ms < 0 || ms > most_milliseconds) {
        throw http::status_error(http::status::bad_request, "too long\n");
    }
    co_await sleep_for(std::chrono::milliseconds(ms));
    co_return "slept " + std::to_string(ms) + " ms\n";
}

}  // namespace

int main(int argc, char** argv) {
    http::router routes;
    routes.get("/repeat", repeat);
    routes.get("/sleep", sleep_and_respond);

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
