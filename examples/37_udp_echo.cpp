// UDP echo, up to 64 datagrams in each system call: udp_echo [ADDRESS]
//
//   udp_echo 0.0.0.0:7777        each reply leaves from the address that was called
//   udp_echo                     asks itself, and prints what came back

#include <coracle/net/datagram_socket.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <iostream>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

net::datagram_socket open(std::string_view where) {
    datagram_options options;
    options.tell_destination = true;
    const auto at = net::address::parse(where);
    if (!at) throw_exception(at.error());
    auto socket = net::datagram_socket::open(*loop::current(), *at, options);
    if (!socket) throw_exception(socket.error());
    return *std::move(socket);
}

task<> echo(net::datagram_socket& socket) {
    // All the memory that this will ever need, for datagrams of any size.
    net::datagram_batch batch(64, 65'535);
    for (;;) {
        co_await socket.receive_many(batch);
        // A batch that is sent as it was received goes back to the senders. One that cannot be
        // reached does not hold up the others.
        co_await as_result(socket.send_many(batch));
    }
}

task<> serve(std::string_view where) {
    auto socket = open(where);
    std::cout << "listening on udp://" << socket.local().to_string() << std::endl;
    co_await echo(socket);
}

task<> ask(net::address server) {
    auto socket = open("127.0.0.1:0");
    if (auto connected = socket.connect(server); !connected) throw_exception(connected.error());
    for (int i = 1; i <= 3; ++i) {
        const std::string text = "datagram " + std::to_string(i);
        co_await socket.send(text);
        const net::datagram reply = co_await with_timeout(1s, socket.receive());
        std::cout << reply.view() << " from " << reply.from.to_string() << '\n';
    }
}

task<> ask_itself() {
    auto socket = open("127.0.0.1:0");
    co_await when_any(echo(socket), ask(socket.local()));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc > 1)
            block_on([&] { return serve(argv[1]); });
        else
            block_on([] { return ask_itself(); });
    } catch (const exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
