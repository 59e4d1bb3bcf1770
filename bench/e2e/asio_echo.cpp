// TCP echo on Asio's coroutines, one thread: asio_echo 127.0.0.1:PORT

#include "../support/sockets.hpp"

#define ASIO_STANDALONE
#if defined(__clang__)  // older Asio knows coroutines of g++ only, though clang has the same
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <array>
#include <asio.hpp>
#include <exception>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::tcp;

namespace {

awaitable<void> echo(tcp::socket peer) {
    std::array<char, 16384> bytes;
    try {
        for (;;) {
            const std::size_t size =
                co_await peer.async_read_some(asio::buffer(bytes), use_awaitable);
            co_await asio::async_write(peer, asio::buffer(bytes, size), use_awaitable);
        }
    } catch (const std::exception&) {
        // The peer has gone.
    }
}

awaitable<void> serve(tcp::acceptor& listener) {
    for (;;) {
        tcp::socket peer = co_await listener.async_accept(use_awaitable);
        asio::co_spawn(listener.get_executor(), echo(std::move(peer)), asio::detached);
    }
}

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    asio::io_context io{1};  // one thread, which spares Asio the wakes of others
    tcp::acceptor listener{io, tcp::v4(), bench::listen_and_announce(where, 0, "tcp")};
    asio::co_spawn(io, serve(listener), asio::detached);
    io.run();
}
