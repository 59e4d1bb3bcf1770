#include <coracle/base/version.hpp>
#include <coracle/http/server.hpp>

#include <cstdio>

using namespace coracle;

int main() {
    http::router routes;
    routes.get("/", [](http::request&) { return "hi"; });
    std::puts(version());
}
