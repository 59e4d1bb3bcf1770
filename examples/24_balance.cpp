// A reverse proxy before several servers: balance ADDRESS URL...
//
//   balance 127.0.0.1:8080 http://127.0.0.1:9001 http://127.0.0.1:9002
//
// Which of them are up is known by what requests to them come to, and by GET /readyz. With
// BALANCE=least or BALANCE=hash in the environment it is the one with the fewest requests, or the
// one for the client's cookie "shop". What it knows of them is at /-/upstreams.

#include <coracle/http/forward.hpp>
#include <coracle/http/server.hpp>
#include <coracle/http/upstreams.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

std::string key_of(const http::request& req) {
    return std::string(req.cookie("shop").value_or(""));
}

std::string describe(const http::upstreams& nodes) {
    std::string text;
    for (const http::upstream_state& s : nodes.states()) {
        text += s.url + (s.is_well ? " well" : " ill") + (s.is_ejected ? " ejected" : "") + ' ' +
                std::to_string(s.active) + " of " + std::to_string(s.requests) +
                " requests under way, " + std::to_string(s.failures) + " failed\n";
    }
    return text;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::fputs("usage: balance ADDRESS URL...\n", stderr);
        return 2;
    }
    const char* const wanted = std::getenv("BALANCE");
    const std::string_view by = wanted != nullptr ? wanted : "";
    http::upstream_options how;
    if (by == "least") how.by = http::balance::least_connections;
    if (by == "hash") how.by = http::balance::hash;
    how.key = key_of;
    how.health_interval = std::chrono::milliseconds(100);
    http::client client;
    http::upstreams nodes(client, {argv + 2, argv + argc}, how);

    http::forward_options v2;
    v2.strip_prefix = "/api";
    http::router routes;
    routes.get("/-/upstreams", [&](http::request&) { return describe(nodes); });
    routes.any("/api/{*rest}", http::forward_to(nodes, v2));
    routes.any("/{*rest}", http::forward_to(nodes));

    http::server_options options;
    options.listen = argv[1];
    options.run_beside([&] { return nodes.check(); }, "health checks");
    http::serve(routes, options);
}
