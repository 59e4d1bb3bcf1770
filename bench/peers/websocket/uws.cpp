// WebSocket on uWebSockets, which is not built with the tree: README in bench/peers says how. "/"
// echoes, and what comes on "/all" goes to every connection of "/all"; what comes on "/deflated" to
// every connection of that, compressed.
//
//   uws 127.0.0.1:PORT

#include <App.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct nothing {};

}  // namespace

int main(int, char** argv) {
    const std::string_view address = argv[1];
    const std::string host(address.substr(0, address.rfind(':')));
    const int port = std::atoi(std::string(address.substr(address.rfind(':') + 1)).c_str());
    using socket = uWS::WebSocket<false, true, nothing>;
    uWS::App()
        .ws<nothing>("/", {.compression = uWS::SHARED_COMPRESSOR,
                           .maxPayloadLength = 64 * 1024 * 1024,
                           .idleTimeout = 0,
                           .maxBackpressure = 64 * 1024 * 1024,
                           .message = [](socket* ws, std::string_view message,
                                         uWS::OpCode code) { ws->send(message, code, true); }})
        .ws<nothing>("/all", {.maxPayloadLength = 64 * 1024 * 1024,
                              .idleTimeout = 0,
                              .maxBackpressure = 64 * 1024 * 1024,
                              .open = [](socket* ws) { ws->subscribe("all"); },
                              .message =
                                  [](socket* ws, std::string_view message, uWS::OpCode code) {
                                      ws->publish("all", message, code);
                                      // `publish` leaves its sender out.
                                      ws->send(message, code);
                                  }})
        .ws<nothing>("/deflated", {.compression = uWS::SHARED_COMPRESSOR,
                                   .maxPayloadLength = 64 * 1024 * 1024,
                                   .idleTimeout = 0,
                                   .maxBackpressure = 64 * 1024 * 1024,
                                   .open = [](socket* ws) { ws->subscribe("deflated"); },
                                   .message =
                                       [](socket* ws, std::string_view message, uWS::OpCode code) {
                                           ws->publish("deflated", message, code, true);
                                           // `publish` leaves its sender out.
                                           ws->send(message, code, true);
                                       }})
        .listen(host, port,
                [&host](auto* listening) {
                    if (listening == nullptr) std::exit(1);
                    const int at =
                        us_socket_local_port(0, reinterpret_cast<us_socket_t*>(listening));
                    std::printf("listening on http://%s:%d\n", host.c_str(), at);
                    std::fflush(stdout);
                })
        .run();
}
