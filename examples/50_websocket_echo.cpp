// Sends back every message: websocket_echo [ADDRESS] [LOOPS]
//
//   coracle ws ws://127.0.0.1:8080/

#include <coracle/http/server.hpp>
#include <coracle/websocket/route.hpp>

#include <cstdlib>
#include <utility>

using namespace coracle;

int main(int argc, char** argv) {
    websocket::route_options echo;
    echo.origins = websocket::origins::any();
    echo.limits.message = 64 * 1024 * 1024;
    echo.limits.fragments = 1024 * 1024;
    echo.compression.mode = websocket::compression_mode::with_context;

    http::router routes;
    websocket::route(routes, "/", echo, [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(std::move(*message));
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
