// A reverse proxy: passes requests on to another server, and its responses back, as they come.
//
//   reverse_proxy http://127.0.0.1:9000 [ADDRESS] [LOOPS]

#include <coracle/http/client.hpp>
#include <coracle/http/forward.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/http/server.hpp>

#include <cstdlib>
#include <iostream>

using namespace coracle;

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "usage: reverse_proxy URL [ADDRESS] [LOOPS]\n";
        return 2;
    }
    http::client client;
    http::router routes;
    routes.use(http::request_id());
    routes.any("/", http::forward_to(client, argv[1]));
    routes.any("/{*rest}", http::forward_to(client, argv[1]));
    http::server_options options;
    if (argc > 2) options.listen = argv[2];
    if (argc > 3) options.loops = static_cast<unsigned>(std::atoi(argv[3]));
    http::serve(routes, options);
}
