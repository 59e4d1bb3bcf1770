// One of several nodes behind a balancer: node [ADDRESS] [LOOPS] [PROXIES] [HANDOVER]
//
// Has what deploy/ needs: /healthz and /readyz, metrics at /metrics, a WebSocket that echoes at
// /ws, and text at /hello. PROXIES are networks whose connections begin with a PROXY header
// ("127.0.0.0/8"). On SIGTERM it drains: /readyz says 503 to those who still ask, and WebSockets
// are closed with 1001, for the clients to come back to another node.

#include <coracle/http/drain_signal.hpp>
#include <coracle/http/metrics.hpp>
#include <coracle/http/middleware/health.hpp>
#include <coracle/http/server.hpp>
#include <coracle/metrics/process.hpp>
#include <coracle/websocket/route.hpp>

#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    metrics::registry all;
    metrics::add_process(all);
    http::response_metrics seen(all);
    const http::health health;

    websocket::route_options echo;
    echo.origins = websocket::origins::any();

    http::router routes;
    routes.get("/hello",
               [](http::request& req) { return "Hello, " + req.client().host() + "!\n"; });
    routes.get("/healthz", health.live());
    const http::handler ready = health.ready();
    const auto unless_draining = [](http::request& req,
                                    const http::handler& next) -> task<http::response> {
        if (http::is_draining(req)) {
            co_return http::response(http::status::service_unavailable, "draining\n");
        }
        co_return co_await next(req);
    };
    routes.get("/readyz", http::wrap(unless_draining, ready));
    routes.get("/metrics", http::serve_metrics(all));
    websocket::route(routes, "/ws", echo, [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(*message);
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    if (argc > 3) options.proxy_protocol_from = argv[3];
    if (argc > 4) options.handover = argv[4];
    options.timeouts.drain = std::chrono::seconds(20);
    options.observe(seen);
    http::serve(routes, options);
}
