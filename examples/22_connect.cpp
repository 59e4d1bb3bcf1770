// Connects to a host by name and prints which address connected first: connect HOST [PORT]
//
//   connect example.com 443

#include <coracle/connect/connect.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstdlib>
#include <iostream>

using namespace coracle;

int main(int argc, char** argv) {
    const char* host = argc > 1 ? argv[1] : "localhost";
    const auto port = static_cast<std::uint16_t>(argc > 2 ? std::atoi(argv[2]) : 80);
    return block_on([&]() -> task<int> {
        net::resolver names(*loop::current());
        const auto found = co_await as_result(names.resolve(host, port));
        if (found) {
            for (const net::address& a : *found) std::cout << "  " << a.to_string() << '\n';
        }
        const auto stream = co_await as_result(connect::to(names, host, port));
        if (!stream) {
            std::cerr << stream.error() << '\n';
            co_return 1;
        }
        std::cout << (*stream)->peer().to_string() << " connected first\n";
        co_return 0;
    });
}
