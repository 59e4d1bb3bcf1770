// Topics of several processes: what comes on "/all" goes to every connection of "/all" of each
// process that has the same Redis.
//
//   redis_websocket 127.0.0.1:PORT REDIS_URL

#include <coracle/http/server.hpp>
#include <coracle/redis/topic_bus.hpp>
#include <coracle/websocket/route.hpp>
#include <coracle/websocket/topics.hpp>

#include <cstdio>
#include <memory>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: redis_websocket 127.0.0.1:PORT REDIS_URL\n", stderr);
        return 2;
    }
    websocket::topics topics({}, std::make_shared<redis::topic_bus>(argv[2]));
    websocket::route_options o;
    o.origins = websocket::origins::any();
    http::router routes;
    websocket::route(routes, "/all", o, [&topics](websocket::connection& ws) -> task<> {
        const auto membership = topics.subscribe(ws, "all");
        while (auto message = co_await ws.receive()) topics.publish("all", *message);
    });
    http::server_options options;
    options.listen = argv[1];
    options.loops = 1;
    http::serve(routes, options);
}
