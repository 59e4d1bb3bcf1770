// Clients that show a certificate:
//   mtls ADDRESS LOOPS CERTIFICATE KEY AUTHORITIES
// A client without a certificate, or with one that AUTHORITIES do not vouch for, is a stranger;
// /private is not for strangers.

#include <coracle/http/server.hpp>
#include <coracle/tls/session_info.hpp>

#include <cstdio>
#include <cstdlib>

using namespace coracle;

std::string client_of(const http::request& req) {
    const tls::session_info* tls = req.tls();
    return tls->verified() ? tls->peer_certificate().common_name() : "stranger";
}

int main(int argc, char** argv) try {
    if (argc < 6) {
        std::fprintf(stderr, "usage: mtls ADDRESS LOOPS CERTIFICATE KEY AUTHORITIES\n");
        return 2;
    }
    tls::server_options security;
    security.certificates.push_back({.certificate = argv[3], .key = argv[4]});
    security.clients = tls::client_certificates::optional;
    security.client_authorities = argv[5];

    http::router routes;
    routes.get("/", [](http::request& req) { return "Hello, " + client_of(req) + "!\n"; });
    routes.get("/private", [](http::request& req) -> http::response {
        if (!req.tls()->verified()) return {http::status::forbidden, "No certificate, no entry.\n"};
        return "Only for " + client_of(req) + ".\n";
    });

    http::server_options options;
    options.listen = argv[1];
    options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    options.tls = std::make_shared<tls::server_context>(security);
    http::serve(routes, options);
} catch (const std::exception& e) {
    std::fprintf(stderr, "mtls: %s\n", e.what());
    return 1;
}
