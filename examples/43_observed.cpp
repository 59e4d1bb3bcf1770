// A server with all that shows how it does: observed [ADDRESS] [LOOPS]
//
//   a dashboard at /dashboard, for Prometheus /metrics, for balancers /healthz and /readyz
//   curl http://127.0.0.1:8080/slow/50
//   curl http://127.0.0.1:8080/self       a call of a client, which is measured too

#include <coracle/http/client.hpp>
#include <coracle/http/client_metrics.hpp>
#include <coracle/http/dashboard.hpp>
#include <coracle/http/loop_metrics.hpp>
#include <coracle/http/metrics.hpp>
#include <coracle/http/middleware/health.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/http/server.hpp>
#include <coracle/metrics/process.hpp>
#include <coracle/runtime/sleep.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <utility>

using namespace coracle;

static task<http::response> wait_a_while(http::request& req) {
    co_await sleep_for(std::chrono::milliseconds(req.param<int>("ms")));
    co_return "done\n";
}

int main(int argc, char** argv) {
    metrics::registry all;
    metrics::add_process(all);
    http::response_metrics responses(all);
    http::loop_metrics loops(all);
    http::client_metrics calls(all);
    http::client client;
    client.observe(calls);
    http::dashboard seen({.title = "observed"});
    http::health health;

    http::router routes;
    routes.use(http::request_id());
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });
    routes.get("/slow/{ms:[0-9]{1,4}}", wait_a_while);
    routes.get("/fails", [](http::request&) -> http::response {
        throw std::runtime_error("the boat has a hole");
    });
    std::string own_url;
    routes.get("/self", [&](http::request&) -> task<http::response> {
        auto asking = client.get(own_url).full();
        http::full_response own = co_await std::move(asking);
        co_return std::move(own.body);
    });
    routes.get("/healthz", health.live());
    routes.get("/readyz", health.ready());
    routes.get("/metrics", http::serve_metrics(all));
    seen.add_to(routes, "/dashboard");

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    options.log = &seen.log();
    options.observe(responses).observe(loops).observe(seen);
    http::serve(routes, options, [&](http::server& s) {
        own_url = s.urls().front() + "/";
        seen.set_counters([&s] { return s.counters(); });
        http::add_server_counters(all, [&s] { return s.counters(); });
        for (const std::string& url : s.urls()) std::printf("listening on %s\n", url.c_str());
        std::fflush(stdout);
    });
}
