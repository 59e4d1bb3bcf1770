// UDP echo on Asio, one thread: asio_udp_echo 127.0.0.1:PORT [callback]      else a coroutine

#include "../support/sockets.hpp"

#define ASIO_STANDALONE
#if defined(__clang__)  // older Asio knows coroutines of g++ only, though clang has the same
#define ASIO_HAS_CO_AWAIT 1
#define ASIO_HAS_STD_COROUTINE 1
#endif
#include <array>
#include <asio.hpp>
#include <string_view>

using asio::awaitable;
using asio::use_awaitable;
using asio::ip::udp;

namespace {

awaitable<void> echo(udp::socket& socket) {
    std::array<char, 2048> bytes;
    udp::endpoint peer;
    for (;;) {
        const std::size_t size =
            co_await socket.async_receive_from(asio::buffer(bytes), peer, use_awaitable);
        co_await socket.async_send_to(asio::buffer(bytes, size), peer, use_awaitable);
    }
}

class echo_by_callback {
public:
    explicit echo_by_callback(udp::socket& socket) : socket_(socket) {}

    void receive() {
        socket_.async_receive_from(asio::buffer(bytes_), peer_,
                                   [this](const asio::error_code& error, std::size_t size) {
                                       if (error) return receive();
                                       send(size);
                                   });
    }

private:
    void send(std::size_t size) {
        socket_.async_send_to(asio::buffer(bytes_, size), peer_,
                              [this](const asio::error_code&, std::size_t) { receive(); });
    }

    udp::socket& socket_;
    std::array<char, 2048> bytes_;
    udp::endpoint peer_;
};

}  // namespace

int main(int argc, char** argv) {
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    asio::io_context io{1};  // one thread, which spares Asio the wakes of others
    udp::socket socket{io, udp::v4(), bench::bind_and_announce(where, SOCK_NONBLOCK)};
    echo_by_callback by_callback(socket);
    if (argc > 2 && std::string_view(argv[2]) == "callback")
        by_callback.receive();
    else
        asio::co_spawn(io, echo(socket), asio::detached);
    io.run();
}
