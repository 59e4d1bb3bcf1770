// Coracle and Asio in one program: Asio's io_context on the main thread, Coracle's loops on threads
// of their own.
//
//   asio URL
//
// A timer of Asio ticks while a client of Coracle requests the URL; the result comes back to the
// io_context by `asio::post`, the only call that crosses over.

#include <coracle/http/client.hpp>

#define ASIO_NO_DEPRECATED 1
#include <asio.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <iostream>
#include <memory>
#include <utility>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc != 2) {
        std::cerr << "usage: asio URL\n";
        return 2;
    }
    asio::io_context context;
    auto work = asio::make_work_guard(context);
    asio::steady_timer ticks(context);
    std::size_t ticked = 0;
    bool done = false;
    std::function<void(std::error_code)> tick = [&](std::error_code stopped) {
        if (stopped || done) return;  // a tick may be on its way when the timer is cancelled
        ++ticked;
        ticks.expires_after(std::chrono::milliseconds(1));
        ticks.async_wait(tick);
    };
    tick({});

    int code = 1;
    http::client client;
    client.get(argv[1]).start([&](std::expected<http::full_response, error> response) {
        // On a thread of Coracle; what belongs to the context is touched on its own thread alone.
        auto kept =
            std::make_shared<std::expected<http::full_response, error>>(std::move(response));
        asio::post(context, [&, kept] {
            if (*kept) {
                std::cout << to_code((*kept)->status) << ", " << (*kept)->body.size() << " bytes\n";
                code = (*kept)->ok() ? 0 : 1;
            } else {
                std::cerr << kept->error() << '\n';
            }
            done = true;
            ticks.cancel();
            work.reset();
        });
    });
    context.run();
    std::cout << "the timer ticked " << (ticked > 0 ? "meanwhile" : "never") << '\n';
    return code;
}
