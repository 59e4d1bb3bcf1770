// HTTPS, and a port that sends plain HTTP there:
//   https [ADDRESS] [LOOPS] [CERTIFICATE KEY [PLAIN_ADDRESS]]
// Without a certificate, one is made on the spot.

#include <coracle/http/https_only.hpp>
#include <coracle/http/server.hpp>

#include <cstdio>
#include <cstdlib>

using namespace coracle;

std::shared_ptr<tls::server_context> certificate(int argc, char** argv) {
    if (argc > 4) return std::make_shared<tls::server_context>(argv[3], argv[4]);
    tls::server_options made;
    made.certificates.push_back(tls::self_signed({"localhost", "127.0.0.1"}));
    return std::make_shared<tls::server_context>(made);
}

int main(int argc, char** argv) try {
    http::router routes;
    http::https_only_options only;
    const auto at = net::address::parse(argc > 1 ? argv[1] : "");
    if (at && at->port() != 0) only.port = at->port();
    routes.use(http::https_only(only));
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });

    http::server_options options;
    if (argc > 1) options.listen = "https://" + std::string(argv[1]);
    if (argc > 2) options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    if (argc > 5) options.listen += ",http://" + std::string(argv[5]);
    options.tls = certificate(argc, argv);
    http::serve(routes, options);
} catch (const std::exception& e) {
    std::fprintf(stderr, "https: %s\n", e.what());
    return 1;
}
