// A streamed response that a plain thread feeds through a channel, over real sockets.

#include <coracle/http/stream_from.hpp>
#include <coracle/testing/local_server.hpp>

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <chrono>
#include <future>
#include <thread>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t piece_size = 64 * 1024;
constexpr int pieces_sent = 1024;  // more than all socket buffers on the way take

/// Makes pieces on a thread of its own until it has made all, or nobody wants more.
class producer {
public:
    ~producer() {
        if (thread_.joinable()) thread_.join();
    }
    http::response start() {
        channel<std::string> pieces(2);
        thread_ = std::thread([this, pieces]() mutable { make(pieces); });
        return http::stream_from(pieces);
    }

    std::promise<int> stalled;  ///< how many were made when the client took no more
    std::promise<error> ended;  ///< what ended it

private:
    void make(channel<std::string>& pieces) {
        bool told = false;
        for (int i = 0; i != pieces_sent; ++i) {
            std::string piece(piece_size, static_cast<char>('a' + i % 26));
            auto sent = told ? pieces.send_blocking(std::move(piece))
                             : pieces.send_blocking(std::move(piece), 300ms);
            if (!sent && sent.error() == std::errc::timed_out) {
                told = true;
                stalled.set_value(i);
                sent = pieces.send_blocking(std::move(piece));  // it is still there
            }
            if (!sent) {
                ended.set_value(sent.error());
                return;
            }
        }
        pieces.close();
        ended.set_value(error());
    }

    std::thread thread_;
};

constexpr std::string_view request = "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";

std::size_t drain(int fd) {
    std::string block(1 << 16, '\0');
    std::size_t all = 0;
    for (;;) {
        const ssize_t n = ::recv(fd, block.data(), block.size(), 0);
        if (n <= 0) return all;
        all += static_cast<std::size_t>(n);
    }
}

int connect_to(std::uint16_t port) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const timeval patience{30, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
    EXPECT_EQ(::send(fd, request.data(), request.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(request.size()));
    return fd;
}

}  // namespace

TEST(stream_from_a_thread, waits_for_the_client_and_loses_nothing) {
    producer source;
    const local_server server([&](http::request&) { return source.start(); });
    const int fd = connect_to(server.port());
    auto stalled = source.stalled.get_future();
    ASSERT_EQ(stalled.wait_for(30s), std::future_status::ready);
    EXPECT_LT(stalled.get(), pieces_sent);
    EXPECT_GE(drain(fd), piece_size * pieces_sent);
    ::close(fd);
    EXPECT_FALSE(source.ended.get_future().get().code());
}

TEST(stream_from_a_thread, is_told_that_the_client_is_gone) {
    producer source;
    const local_server server([&](http::request&) { return source.start(); });
    const int fd = connect_to(server.port());
    auto stalled = source.stalled.get_future();
    ASSERT_EQ(stalled.wait_for(30s), std::future_status::ready);
    ::close(fd);
    EXPECT_EQ(source.ended.get_future().get(), std::errc::broken_pipe);
}
