// The program that the tests of this folder keep busy: a server and a client in one, which sends
// everything on to BASE, or with "-" a server that reads what is posted and says how many bytes
// that was: soak_relay ADDRESS LOOPS BASE

#include <coracle/http/forward.hpp>
#include <coracle/http/server.hpp>

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

// The bytes of a known pattern, and where it is broken.
task<http::response> count(http::request& req) {
    std::uint64_t n = 0;
    std::uint64_t wrong = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        for (const char byte : piece) {
            wrong += static_cast<unsigned char>(byte) != n % 251;
            ++n;
        }
    }
    co_return std::to_string(n) + " bytes, " + std::to_string(wrong) + " wrong\n";
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::cerr << "usage: soak_relay ADDRESS LOOPS BASE\n";
        return 2;
    }
    http::client_options plain;
    plain.proxy_from_environment = false;
    http::client client(plain);
    http::server_options options;
    options.listen = argv[1];
    options.loops = static_cast<unsigned>(std::atoi(argv[2]));
    const bool is_last = std::string_view(argv[3]) == "-";
    http::serve(is_last ? http::handler(&count) : http::forward_to(client, argv[3]), options);
}
