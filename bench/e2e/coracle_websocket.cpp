// WebSocket on Coracle: "/" echoes, and what comes on "/all" goes to every connection of "/all";
// what comes on "/deflated" to every connection of that, compressed.
//
//   coracle_websocket 127.0.0.1:PORT [LOOPS]

#include <coracle/http/server.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <cstdlib>
#include <utility>

using namespace coracle;

int main(int argc, char** argv) {
    websocket::route_options o;
    o.origins = websocket::origins::any();
    // Agreed on only with clients that offer it.
    o.compression.mode = websocket::compression_mode::per_message;

    websocket::topics topics;
    http::router routes;
    websocket::route(routes, "/", o, [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(std::move(*message));
    });
    websocket::route(routes, "/all", o, [&topics](websocket::connection& ws) -> task<> {
        const auto membership = topics.subscribe(ws, "all");
        while (auto message = co_await ws.receive()) topics.publish("all", *message);
    });
    websocket::topic_options compressed;
    compressed.compression.mode = websocket::compression_mode::per_message;
    websocket::topics deflated(compressed);
    websocket::route(routes, "/deflated", o, [&deflated](websocket::connection& ws) -> task<> {
        const auto membership = deflated.subscribe(ws, "all");
        while (auto message = co_await ws.receive()) deflated.publish("all", *message);
    });

    http::server_options options;
    options.listen = argc > 1 ? argv[1] : "127.0.0.1:7777";
    options.loops = argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : 1;
    http::serve(routes, options);
}
