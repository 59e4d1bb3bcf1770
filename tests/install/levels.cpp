// Built at each level of optimisation against the installed library: what never has to wait must
// not use up the stack. usage: levels [PIECES]

#include <coracle/http/server.hpp>
#include <coracle/testing/local_server.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

using namespace coracle;

namespace {

task<http::response> count_pieces(http::request& req) {
    std::size_t n = 0;
    for (;;) {
        const std::string_view piece = co_await req.body().read();
        if (piece.empty()) break;
        n += piece.size();
    }
    co_return std::to_string(n);
}

task<std::size_t> one_of(char c) {
    co_return c == 'x' ? 1u : 0u;
}

task<http::response> count_bytes(http::request& req) {
    const std::string all = co_await req.body().text(1024 * 1024 * 1024);
    std::size_t n = 0;
    for (const char c : all) n += co_await one_of(c);
    co_return std::to_string(n);
}

bool send_all(int fd, const std::string& bytes) {
    for (std::size_t sent = 0; sent != bytes.size();) {
        const ssize_t n = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
    }
    return true;
}

/// The last line of the response to a request with so many chunks of one byte.
std::string ask(std::uint16_t port, const std::string& target, std::size_t chunks) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return "no server";
    std::string block;
    for (int i = 0; i != 10'000; ++i) block += "1\r\nx\r\n";
    bool good = send_all(fd, "POST " + target +
                                 " HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                                 "Transfer-Encoding: chunked\r\n\r\n");
    for (std::size_t left = chunks; good && left != 0;) {
        const std::size_t n = std::min<std::size_t>(left, 10'000);
        good = send_all(fd, block.substr(0, n * 6));
        left -= n;
    }
    good = good && send_all(fd, "0\r\n\r\n");
    std::string all;
    char piece[4096];
    for (ssize_t n = 0; (n = ::recv(fd, piece, sizeof piece, 0)) > 0;) {
        all.append(piece, static_cast<std::size_t>(n));
    }
    ::close(fd);
    const std::size_t end = all.find("\r\n\r\n");
    return end == std::string::npos ? "no response" : all.substr(end + 4);
}

}  // namespace

int main(int argc, char** argv) {
    const std::size_t pieces = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 200'000;
    http::router routes;
    routes.post("/pieces", count_pieces);
    routes.post("/bytes", count_bytes);
    testing::local_server_options options;
    options.limits.h1.chunk_overhead = 1024 * 1024 * 1024;
    options.limits.body = 1024 * 1024 * 1024;
    const testing::local_server server(std::move(routes), options);
    for (const char* target : {"/pieces", "/bytes"}) {
        const std::string counted = ask(server.port(), target, pieces);
        if (counted == std::to_string(pieces)) continue;
        std::fprintf(stderr, "%s: %s, not %zu\n", target, counted.c_str(), pieces);
        return 1;
    }
    std::printf("%zu pieces\n", pieces);
}
