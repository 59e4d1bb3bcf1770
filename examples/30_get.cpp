// Asks a server for a page, with a query, and says what went wrong: get URL
//
//   get http://127.0.0.1:8080/stats.json

#include <coracle/http/client.hpp>
#include <coracle/runtime/runtime.hpp>

#include <chrono>
#include <iostream>

using namespace coracle;

int main(int argc, char** argv) {
    const char* url = argc > 1 ? argv[1] : "http://127.0.0.1:8080/";
    http::client client;
    return block_on([&]() -> task<int> {
        http::call call = client.get(url);
        call.query("from", "an example")
            .timeout(std::chrono::seconds(5))
            .follow(http::follow::standard);
        auto res = co_await as_result(call);
        if (!res) {
            std::cerr << res.error() << '\n';
            co_return 1;
        }
        std::cout << to_code(res->status()) << ' ' << res->fields().get("Content-Type") << '\n';
        auto reading = res->text();
        const auto text = co_await as_result(reading);
        if (!text) {
            std::cerr << text.error() << '\n';
            co_return 1;
        }
        std::cout << *text << '\n';
        co_return 0;
    });
}
