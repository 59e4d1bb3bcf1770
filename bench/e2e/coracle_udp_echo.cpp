// UDP echo on Coracle: coracle_udp_echo 127.0.0.1:PORT single|batch
// CORACLE_BACKEND chooses the backend.

#include <coracle/net/datagram_socket.hpp>
#include <coracle/runtime/runtime.hpp>

#include <cstdio>
#include <string_view>

using namespace coracle;

namespace {

net::datagram_socket open(std::string_view where) {
    const auto at = net::address::parse(where);
    if (!at) throw_exception(at.error());
    datagram_options options;
    options.receive_buffer = 4 << 20;
    auto socket = net::datagram_socket::open(*loop::current(), *at, options);
    if (!socket) throw_exception(socket.error());
    std::printf("listening on udp://%s\n", socket->local().to_string().c_str());
    std::fflush(stdout);
    return *std::move(socket);
}

task<> echo_singly(std::string_view where) {
    auto socket = open(where);
    for (;;) {
        const auto d = co_await as_result(socket.receive());
        if (d) co_await as_result(socket.send_to(d->view(), d->from));
    }
}

task<> echo_in_batches(std::string_view where) {
    auto socket = open(where);
    net::datagram_batch batch;
    for (;;) {
        const auto n = co_await as_result(socket.receive_many(batch));
        if (n) co_await as_result(socket.send_many(batch));
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    if (argc > 2 && std::string_view(argv[2]) == "batch")
        block_on([&] { return echo_in_batches(where); });
    else
        block_on([&] { return echo_singly(where); });
}
