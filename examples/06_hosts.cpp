// Several hosts, each with routes of its own: hosts [ADDRESS] [LOOPS]
//
//   curl -H 'Host: api.example.com' http://127.0.0.1:8080/boats/7
//   curl -H 'Host: anyone.example.com' http://127.0.0.1:8080/
//   curl http://127.0.0.1:8080/

#include <coracle/http/server.hpp>

#include <cstdio>
#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    http::router api;
    api.get("/boats/{id:[0-9]+}",
            [](http::request& req) { return "boat " + std::string(req.param("id")) + '\n'; });
    api.not_found([](http::request&) {
        return http::response(http::status::not_found, "{\"error\": \"no such thing\"}\n");
    });

    http::router users;
    users.get("/",
              [](http::request& req) { return "the page of " + std::string(req.host()) + '\n'; });

    http::router routes;
    routes.host("api.example.com", api);
    routes.host("*.example.com", users);
    // Every other host.
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });
    routes.group("/help", [](http::router& help) {
        help.get("/", [](http::request&) { return "Help\n"; });
        help.get("/{topic}", [](http::request& req) { return req.param("topic"); }).name("help");
    });
    std::fputs(routes.describe().c_str(), stderr);

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
