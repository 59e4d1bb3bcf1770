// A service as it runs in production: probes, metrics, and an end that drops no request.
//
//   service [ADDRESS] [LOOPS]
//
// /healthz and /readyz are for the orchestrator, /metrics for Prometheus. At SIGTERM it first says
// in /readyz that it goes, serves on for a second, so that the balancer sends nothing more, and
// then drains.

#include <coracle/http/metrics.hpp>
#include <coracle/http/middleware/health.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/http/server.hpp>
#include <coracle/metrics/process.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/sleep.hpp>

#include <csignal>
#include <cstdlib>
#include <iostream>

using namespace coracle;
using namespace std::chrono_literals;

static task<> stop_gently(signal_set& ends, http::health& health, http::server& server,
                          runtime& rt) {
    co_await ends.next();
    health.set_ready(false);
    co_await sleep_for(1s);
    server.stop();  // which waits for requests under way
    co_await ends.next();
    rt.stop();  // which does not
}

int main(int argc, char** argv) {
    metrics::registry numbers;
    metrics::add_process(numbers);
    http::response_metrics responses(numbers);
    http::health health;

    http::router routes;
    routes.use(http::request_id());
    routes.get("/", [](http::request&) { return "Ahoy!\n"; });
    routes.get("/slow", [](http::request&) -> task<http::response> {
        co_await sleep_for(2s);
        co_return "That took a while.\n";
    });
    routes.get("/healthz", health.live());
    routes.get("/readyz", health.ready());
    routes.get("/metrics", http::serve_metrics(numbers));

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    options.timeouts.drain = 20s;
    options.observe(responses);

    signal_set ends{SIGINT, SIGTERM};  // before the threads of the loops
    http::server server(routes, options);
    runtime_options loops;
    loops.loops = options.loops;
    runtime rt(loops);
    server.open(rt);
    for (const std::string& at : server.urls()) std::cout << "listening on " << at << std::endl;
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) spawn([&] { return stop_gently(ends, health, server, rt); }, "signals");
        co_await server.run(l);
    });
    std::cout << "drained" << std::endl;
}
