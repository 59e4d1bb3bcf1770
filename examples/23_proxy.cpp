// Asks a web server for its first page through a proxy, and says how long each part took:
//
//   proxy PROXY HOST [PORT]
//   proxy socks5h://joe:secret@localhost:1080 example.com
//
// With "-" as PROXY, the one that the environment names (http_proxy, no_proxy).

#include <coracle/connect/connect.hpp>
#include <coracle/connect/proxy_environment.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

task<> print_all(net::byte_stream& stream) {
    for (;;) {
        const auto bytes = co_await as_result(stream.receive());
        if (!bytes) co_return;
        std::cout << bytes->view();
    }
}

std::int64_t microseconds(duration d) {
    return std::chrono::duration_cast<std::chrono::microseconds>(d).count();
}

task<int> get(std::shared_ptr<const connect::proxy> through, std::string host, std::uint16_t port) {
    net::resolver names(*loop::current());
    connect::timings times;
    connect::options o;
    o.proxy(std::move(through)).record(&times);
    const auto stream = co_await as_result(connect::to(names, host, port, o));
    if (!stream) {
        std::cerr << stream.error() << '\n';
        co_return 1;
    }
    std::cerr << "connected to " << times.peer.to_string() << "; resolved after "
              << microseconds(times.resolve) << " us, connected after "
              << microseconds(times.connect) << " us, open after " << microseconds(times.proxy)
              << " us\n";
    std::string name = host.find(':') == std::string::npos ? host : '[' + host + ']';
    if (port != 80) name += ':' + std::to_string(port);
    const std::string request = "GET / HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n";
    co_await (*stream)->send(request);
    co_await print_all(**stream);
    co_return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) {
        std::cerr << "usage: proxy PROXY HOST [PORT]\n";
        return 2;
    }
    const std::string_view url = argv[1];
    const std::string host = argv[2];
    const auto port = static_cast<std::uint16_t>(argc > 3 ? std::atoi(argv[3]) : 80);
    std::shared_ptr<const connect::proxy> through;
    if (url == "-") {
        auto found = connect::proxy_environment::read().find("http", host, port);
        if (!found) {
            std::cerr << found.error() << '\n';
            return 2;
        }
        through = *std::move(found);
    } else {
        auto read = connect::proxy::parse(url);
        if (!read) {
            std::cerr << read.error() << '\n';
            return 2;
        }
        through = std::make_shared<const connect::proxy>(*std::move(read));
    }
    return block_on([&] { return get(through, host, port); });
}
