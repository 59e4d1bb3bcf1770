// The server that peers of HTTP/2 and WebSocket are set on:
// h2_target ADDRESS LOOPS http1|both|upgrade|http2 [CERTIFICATE KEY]

#include <coracle/http/server.hpp>
#include <coracle/websocket/route.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

using namespace coracle;

namespace {

task<http::response> count(http::request& req) {
    std::uint64_t n = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        n += piece.size();
    }
    co_return std::to_string(n);
}

http::response echo(http::request& req) {
    return http::stream([&req](http::body_writer& out) -> task<> {
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) co_return;
            co_await out.write(piece);
        }
    });
}

http::response zeros(http::request& req) {
    auto left = req.query<std::uint64_t>("bytes", 1'000'000);
    return http::stream([left](http::body_writer& out) mutable -> task<> {
        static const std::string piece(64 * 1024, '\0');
        while (left != 0) {
            const auto n = std::min<std::uint64_t>(left, piece.size());
            co_await out.write(std::string_view(piece).substr(0, static_cast<std::size_t>(n)));
            left -= n;
        }
    });
}

http::handler routes() {
    http::router r;
    r.get("/", [](http::request&) { return "Hello, World!\n"; });
    r.post("/", [](http::request&) { return "Hello, World!\n"; });
    r.get("/version", [](http::request& req) { return std::string(to_string(req.version())); });
    r.get("/zeros", &zeros);
    r.post("/count", &count);
    r.put("/count", &count);
    r.post("/echo", &echo);
    r.put("/echo", &echo);
    websocket::route_options o;
    o.origins = websocket::origins::any();
    o.compression.mode = websocket::compression_mode::with_context;
    websocket::route(r, "/ws", o, [](websocket::connection& ws) -> task<> {
        while (auto message = co_await ws.receive()) co_await ws.send(std::move(*message));
    });
    return r;
}

http::http_versions versions_of(std::string_view text) {
    if (text == "http1") return http::http_versions::http1;
    return text == "http2" ? http::http_versions::http2 : http::http_versions::both;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4 && argc != 6) {
        std::fputs("usage: h2_target ADDRESS LOOPS http1|both|upgrade|http2 [CERTIFICATE KEY]\n",
                   stderr);
        return 2;
    }
    http::server_options options;
    options.listen = argv[1];
    options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    options.versions = versions_of(argv[3]);
    options.h2c_upgrade = std::string_view(argv[3]) == "upgrade";
    // h2load takes the requests of a connection that is retired for failed ones.
    options.limits.requests = 1'000'000'000;
    if (argc == 6) options.tls = std::make_shared<tls::server_context>(argv[4], argv[5]);
    http::serve(routes(), options);
}
