// The client that WebSocket servers of others are set on:
//
//   websocket_client cases ws://HOST:PORT [FROM [TO]]
//       echoes in the cases of an Autobahn fuzzing server, and has its report written
//   websocket_client echo ws://HOST:PORT/PATH [http1|http2 [AUTHORITY]]
//       sends messages of many sizes, compressed and not, and expects them back

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/websocket/connect.hpp>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

using namespace coracle;

namespace {

websocket::options generous() {
    websocket::options o;
    o.limits.message = 64 * 1024 * 1024;
    o.limits.fragments = 1024 * 1024;
    o.compression.mode = websocket::compression_mode::with_context;
    return o;
}

task<> echo(http::client& client, std::string url) {
    auto dialing = websocket::connect(client, url);
    dialing.options(generous());
    auto ws = co_await as_result(std::move(dialing));
    if (!ws) co_return;
    for (;;) {
        // A server that breaks the rules is what some cases are about.
        auto came = co_await as_result(ws->receive());
        if (!came || !*came) break;
        auto sent = co_await as_result(ws->send(**came));
        if (!sent) break;
    }
    co_await as_result(ws->closed());
}

task<int> run_cases(std::string server, int from, int to) {
    http::client client;
    auto counting = co_await websocket::connect(client, server + "/getCaseCount");
    auto count = co_await counting.receive();
    const int last = count ? std::atoi(count->str().c_str()) : 0;
    if (to == 0 || to > last) to = last;
    for (int i = from; i <= to; ++i) {
        co_await echo(client, server + "/runCase?case=" + std::to_string(i) + "&agent=coracle");
    }
    co_await echo(client, server + "/updateReports?agent=coracle");
    std::printf("%d cases\n", to - from + 1);
    co_return last == 0 ? 1 : 0;
}

http::client_options options_of(std::string_view version, std::string authority) {
    http::client_options o;
    o.http_version =
        version == "http2" ? http::version_choice::http_2 : http::version_choice::http_1_1;
    o.certificates.authorities = std::move(authority);
    return o;
}

task<int> expect_echo(std::string url, http::client_options options) {
    using enum websocket::compression_mode;
    int wrong = 0;
    for (const auto mode : {off, per_message, with_context}) {
        http::client client(options);
        websocket::options o = generous();
        o.compression.mode = mode;
        auto dialing = websocket::connect(client, url);
        dialing.options(o);
        auto ws = co_await dialing;
        std::string text;
        for (const std::size_t size : {0U, 1U, 125U, 126U, 65535U, 65536U, 900'000U}) {
            while (text.size() < size) text += "boat " + std::to_string(text.size() % 977);
            text.resize(size);
            for (const auto type :
                 {websocket::message_type::text, websocket::message_type::binary}) {
                const auto sending = [&]() -> task<> { co_await ws.send(type, text); };
                const auto receiving = [&]() -> task<> {
                    auto back = co_await ws.receive();
                    if (!back || back->data() != text || back->type() != type) ++wrong;
                };
                co_await when_all(sending(), receiving());
            }
        }
        co_await ws.ping();
        co_await ws.close(websocket::close_code::normal, "bye");
        if (!ws.status().clean || ws.status().code != websocket::close_code::normal) ++wrong;
        std::printf("%s\n", ws.is_compressed() ? "compressed" : "plain");
    }
    std::printf("%d wrong\n", wrong);
    co_return wrong == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string url = argv[2];
    if (std::string_view(argv[1]) == "cases") {
        const int from = argc > 3 ? std::atoi(argv[3]) : 1;
        const int to = argc > 4 ? std::atoi(argv[4]) : 0;
        return block_on([&] { return run_cases(url, from, to); });
    }
    const http::client_options options =
        options_of(argc > 3 ? argv[3] : "http1", argc > 4 ? argv[4] : "");
    return block_on([&] { return expect_echo(url, options); });
}
