// Opens keep-alive connections, does one request on each, and holds them until its input closes:
// what an idle connection costs a server is the growth of its memory meanwhile.
//
//   idle_connections ADDR CONNECTIONS        prints "ready" when all of them idle

#include "../support/response_head.hpp"
#include "../support/sockets.hpp"

#include <string>
#include <vector>

namespace {

// One request and its whole response; false when the server did anything but respond with 2xx.
bool exchange(int fd) {
    if (!bench::send_all(fd, "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")) return false;
    std::string bytes;
    char buffer[16384];
    for (;;) {
        const ssize_t size = recv(fd, buffer, sizeof buffer, 0);
        if (size <= 0) return false;
        bytes.append(buffer, static_cast<std::size_t>(size));
        const bench::response_head head = bench::read_response_head(bytes);
        if (head.status == 0) continue;
        if (head.status / 100 != 2 || head.closes) return false;
        if (bytes.size() >= head.head_size + head.body_size) return true;
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fprintf(stderr, "usage: idle_connections ADDR CONNECTIONS\n");
        return 2;
    }
    bench::raise_descriptor_limit();
    const sockaddr_in peer = bench::parse_address(argv[1]);
    const std::size_t wanted = std::strtoul(argv[2], nullptr, 10);
    std::vector<int> connections;
    connections.reserve(wanted);
    while (connections.size() < wanted) {
        const int fd = bench::connect_from_loopback(peer, connections.size());
        if (fd < 0) bench::fail("connect");
        // A server that says nothing for ten seconds has failed; nobody should wait for it.
        const timeval patience{10, 0};
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        if (!exchange(fd)) {
            std::fprintf(stderr, "no response on connection %zu\n", connections.size() + 1);
            return 1;
        }
        connections.push_back(fd);
    }
    std::printf("ready\n");
    std::fflush(stdout);
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
    for (const int fd : connections) close(fd);
}
