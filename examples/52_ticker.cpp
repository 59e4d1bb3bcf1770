// Sends a number ten times a second to all who have connected: ticker [ADDRESS] [LOOPS]
//
//   coracle ws ws://127.0.0.1:8080/

#include <coracle/http/server.hpp>
#include <coracle/runtime/ticker.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <atomic>
#include <cstdlib>
#include <string>

using namespace coracle;

static task<> tick(websocket::topics& topics) {
    using namespace std::chrono_literals;
    std::uint64_t count = 0;
    for (ticker ten_a_second = every(100ms);;) {
        count += co_await ten_a_second.next();
        topics.publish("ticks", std::to_string(count), true);
    }
}

int main(int argc, char** argv) {
    websocket::topics topics;
    std::atomic<bool> ticks = false;

    http::router routes;
    websocket::route_options all;
    all.origins = websocket::origins::any();
    websocket::route(routes, "/", all, [&](websocket::connection& ws) -> task<> {
        // The first visitor winds it up, on the loop that he came to.
        if (!ticks.exchange(true)) spawn([&topics] { return tick(topics); }, "ticker");
        const auto subscribed = topics.subscribe(ws, "ticks");
        // Drops what a visitor says: unread, it would hold up the end of the connection.
        while (co_await ws.receive()) {
        }
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
