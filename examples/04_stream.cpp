// Bodies that are made, and read, piece by piece: stream [ADDRESS] [LOOPS]
//
//   curl -N 'http://127.0.0.1:8080/count?to=10&pause=300'
//   curl -N -T big.iso http://127.0.0.1:8080/echo

#include <coracle/http/server.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    http::router routes;

    routes.get("/count", [](http::request& req) {
        const int to = req.query<int>("to", 10);
        const std::chrono::milliseconds pause(req.query<int>("pause", 100));
        auto count = [to, pause](http::body_writer& out) -> task<> {
            for (int i = 1; i <= to; ++i) {
                if (i > 1) co_await sleep_for(pause);
                const std::string line = std::to_string(i) + '\n';
                co_await out.write(line);
            }
        };
        return http::stream(count, "text/plain");
    });

    // The request lives until its response has been written, so the response may read from it.
    auto echo = [](http::request& req) {
        auto copy = [&req](http::body_writer& out) -> task<> {
            for (;;) {
                const std::string_view piece = co_await req.body().read();
                if (piece.empty()) co_return;
                co_await out.write(piece);
            }
        };
        return http::stream(copy);
    };
    routes.post("/echo", echo);
    routes.put("/echo", echo);

    routes.get("/later", [](http::request& req) -> task<http::response> {
        co_await sleep_for(std::chrono::milliseconds(req.query<int>("ms", 1000)));
        co_return "Here it is.\n";
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
