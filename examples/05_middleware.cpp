// Code around every request: middleware [ADDRESS] [LOOPS]
//
//   curl -i http://127.0.0.1:8080/
//   curl -i -H 'Authorization: Bearer paddle' http://127.0.0.1:8080/private/map

#include <coracle/http/server.hpp>
#include <coracle/runtime/loop.hpp>

#include <cstdlib>

using namespace coracle;

namespace {

/// Logs how long the response took to make.
task<http::response> timing(http::request& req, const http::handler& next) {
    const time_point before = loop::current()->backend().now();
    http::response response = co_await next(req);
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(
        loop::current()->backend().now() - before);
    response.set("Server-Timing", "handler;dur=" + std::to_string(took.count() / 1000) + '.' +
                                      std::to_string(took.count() % 1000 + 1000).substr(1));
    co_return response;
}

/// Lets only those in who know the word.
task<http::response> check_access(http::request& req, const http::handler& next) {
    const bool is_private = req.path().starts_with("/private/");
    if (is_private && req.header("Authorization") != "Bearer paddle") {
        http::response refusal(http::status::unauthorized, "Who are you?\n");
        refusal.set("WWW-Authenticate", "Bearer");
        co_return refusal;
    }
    co_return co_await next(req);
}

}  // namespace

int main(int argc, char** argv) {
    http::router routes;
    routes.use(timing);  // outermost: it times the access check too
    routes.use(check_access);
    routes.get("/", [](http::request&) { return "Anyone may read this.\n"; });
    routes.get("/private/map", [](http::request&) { return "Here be dragons.\n"; });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
