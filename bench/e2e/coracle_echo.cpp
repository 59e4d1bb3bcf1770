// TCP echo on Coracle, one loop, a coroutine for each connection: coracle_echo 127.0.0.1:PORT
// CORACLE_BACKEND chooses the backend.

#include <coracle/net/descriptor_limit.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstdio>

using namespace coracle;

namespace {

task<> echo(std::unique_ptr<net::socket> peer) {
    for (;;) {
        auto bytes = co_await as_result(peer->receive());
        if (!bytes) co_return;
        auto sent = co_await as_result(peer->send(bytes->view()));
        if (!sent) co_return;
    }
}

task<> serve(net::listener& listener) {
    for (;;) {
        auto peer = co_await listener.accept();
        spawn([peer = std::move(peer)]() mutable { return echo(std::move(peer)); }, "echo");
    }
}

task<> listen_and_serve(std::string_view where) {
    const auto at = net::address::parse(where);
    if (!at) throw_exception(at.error());
    auto listener = net::listener::open(*loop::current(), *at);
    if (!listener) throw_exception(listener.error());
    std::printf("listening on tcp://%s\n", listener->local().to_string().c_str());
    std::fflush(stdout);
    co_await serve(*listener);
}

}  // namespace

int main(int argc, char** argv) {
    net::raise_descriptor_limit();
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    block_on([&] { return listen_and_serve(where); });
}
