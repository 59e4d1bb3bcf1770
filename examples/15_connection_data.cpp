// Data that is kept for a connection from one request to the next: connection_data [ADDRESS]
// [LOOPS]

#include <coracle/http/server.hpp>

#include <cstdlib>

using namespace coracle;

struct visit {
    unsigned requests = 0;
};

int main(int argc, char** argv) {
    http::router routes;
    routes.get("/", [](http::request& req) {
        http::connection_info& connection = req.connection();
        visit* v = connection.data<visit>();
        if (v == nullptr) v = &connection.emplace_data<visit>();
        ++v->requests;
        return "Request " + std::to_string(v->requests) + " from " + req.peer().to_string() + ".\n";
    });

    http::server_options options;
    if (argc > 1) options.listen = argv[1];
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    http::serve(routes, options);
}
