// Compressed responses, and requests that come compressed: compression [ADDRESS] [LOOPS]
//
//   curl --compressed -i 'http://127.0.0.1:8080/numbers?to=100000'
//   curl --compressed -N 'http://127.0.0.1:8080/events?pause=500'
//   gzip -c big.txt | curl -H 'Content-Encoding: gzip' --data-binary @- http://127.0.0.1:8080/count

#include <coracle/http/compress.hpp>
#include <coracle/http/ranges.hpp>
#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    http::router routes;
    routes.use(http::compress());
    routes.use(http::decompress());
    routes.use(http::ranges());

    // Held in memory: compressed whole, or in the part that a Range field asks for.
    routes.get("/numbers", [](http::request& req) {
        const int to = req.query<int>("to", 1000);
        std::string text;
        for (int i = 1; i <= to; ++i) text += std::to_string(i) + '\n';
        return http::response(std::move(text));
    });

    // Made while it is sent: each event is there when it is written.
    routes.get("/events", [](http::request& req) {
        const std::chrono::milliseconds pause(req.query<int>("pause", 1000));
        auto events = [pause](http::body_writer& out) -> task<> {
            for (int i = 1;; ++i) {
                const std::string event = "data: " + std::to_string(i) + "\n\n";
                co_await out.write(event);
                co_await sleep_for(pause);
            }
        };
        return http::stream(events, "text/event-stream");
    });

    routes.get("/long", [](http::request& req) {
        auto lines = [left = req.query<int>("pieces", 16)](http::body_writer& out) -> task<> {
            std::string piece;
            for (int i = 0; i != left; ++i) {
                piece.clear();
                for (int line = 0; piece.size() < 65'536; ++line) {
                    piece += std::to_string(i * 7919 + line * 104'729) + '\n';
                }
                co_await out.write(piece);
            }
        };
        return http::stream(lines, "text/plain");
    });

    routes.post("/count", [](http::request& req) -> task<http::response> {
        std::size_t size = 0;
        for (;;) {
            const std::string_view piece = co_await req.body().read();
            if (piece.empty()) break;
            size += piece.size();
        }
        co_return std::to_string(size) + " bytes\n";
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
