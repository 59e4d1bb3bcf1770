#include "ws_listen.hpp"

#include "late_signals.hpp"
#include "listening.hpp"
#include "settings.hpp"

#include <coracle/http/router.hpp>
#include <coracle/http/server.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/websocket/route.hpp>

#include <csignal>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tool {
namespace {

constexpr std::uint64_t most_echoed_bytes = 16 * 1024 * 1024;

task<> echo(websocket::connection& ws) {
    while (auto message = co_await ws.receive()) co_await ws.send(std::move(*message));
}

http::router routes_of(const ws_settings& settings) {
    websocket::route_options o;
    o.limits.message = most_echoed_bytes;
    o.subprotocols = settings.subprotocols;
    // It gives nothing away that a page does not know.
    o.origins = websocket::origins::any();
    if (settings.compress) o.compression.mode = websocket::compression_mode::per_message;
    http::router routes;
    websocket::route(routes, "/{*path}", o,
                     [](websocket::connection& ws) -> task<> { co_await echo(ws); });
    return routes;
}

task<> stop_on_signals(signal_set& signals, http::server& s, runtime& rt) {
    co_await signals.next();
    s.stop();
    co_await signals.next();
    rt.stop();
}

void announce(const http::server& s) {
    constexpr std::size_t http = 4;
    for (const std::string& url : s.urls()) {
        std::printf("listening on ws%s\n", url.substr(http).c_str());
    }
    std::fflush(stdout);
}

}  // namespace

void serve_echo(const ws_settings& settings) {
    logger log(log_level::warning);
    obey_environment(log);
    std::vector<std::string> addresses;
    addresses.push_back(settings.listen->empty() ? "127.0.0.1:0" : *settings.listen);
    http::server_options o;
    o.listen = joined_addresses(addresses);
    o.loops = 1;
    o.log = &log;
    std::signal(SIGPIPE, SIG_IGN);
    net::raise_descriptor_limit();
    // Before threads are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    const late_signals late({SIGINT, SIGTERM});
    runtime_options on;
    on.loops = 1;
    on.log = &log;
    runtime rt(on);
    http::server s(routes_of(settings), std::move(o));
    try {
        s.open(rt);
    } catch (const exception& e) {
        cannot_listen(e.error());
    }
    announce(s);
    rt.run([&](loop& l) -> task<> {
        spawn([&] { return stop_on_signals(signals, s, rt); }, "signals");
        co_await s.run(l);
    });
}

}  // namespace coracle::tool
