// The smallest server: hello [ADDRESS] [LOOPS]

#include <coracle/http/server.hpp>

#include <cstdlib>

using namespace coracle;

int main(int argc, char** argv) {
    http::router routes;
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
