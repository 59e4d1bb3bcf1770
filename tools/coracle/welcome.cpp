#include "welcome.hpp"

#include "json_object.hpp"

#include <coracle/base/version.hpp>

namespace coracle::tool {
namespace {

http::response page(http::request&) {
    http::response r;
    r.set_body(http::body::literal(welcome_page()), "text/html; charset=utf-8");
    r.set("Cache-Control", "no-cache");
    r.set("X-Content-Type-Options", "nosniff");
    r.set("Content-Security-Policy",
          "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
          "connect-src 'self'; img-src data:");
    return r;
}

}  // namespace

std::string live_server::figures() const {
    loop& here = *loop::current();
    const auto now = here.now().time_since_epoch().count();
    const auto up = now - begun_ns_.load(std::memory_order_relaxed);
    const http::server_counters c = server_->counters();
    json_object o;
    o.add("version", version()).add("backend", here.backend().name()).add("loops", loops_);
    o.add("uptime_ms", static_cast<std::uint64_t>(up < 0 ? 0 : up / 1'000'000));
    o.add("connections_open", c.open).add("connections_accepted", c.connections);
    o.add("requests", c.requests).add("requests_in_flight", c.in_flight);
    o.add("responses_2xx", c.responses_2xx).add("responses_3xx", c.responses_3xx);
    o.add("responses_4xx", c.responses_4xx).add("responses_5xx", c.responses_5xx);
    return std::move(o).done() + '\n';
}

http::handler welcome(const live_server& live) {
    http::router routes;
    routes.get("/", page);
    routes.get("/hello", [](http::request&) { return "Hello from Coracle!\n"; });
    routes.get("/stats.json", [&live](http::request&) {
        http::response r;
        r.set_body(live.figures(), "application/json");
        r.set("Cache-Control", "no-store");
        return r;
    });
    return routes;
}

}  // namespace coracle::tool
