// Downloads one path several times over one connection and throws the bytes away inside the kernel
// (MSG_TRUNC copies nothing), so that the server and not the client is what limits.
//
//   download_sink ADDR PATH TIMES            prints "bytes N seconds S"

#include "../support/response_head.hpp"
#include "../support/sockets.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace {

// Reads the head byte-exactly (by a peek first), so that the body starts at the next receive.
bench::response_head receive_head(int fd) {
    char buffer[16384];
    for (;;) {
        const ssize_t seen = recv(fd, buffer, sizeof buffer, MSG_PEEK);
        if (seen <= 0) return {};
        const auto head = bench::read_response_head({buffer, static_cast<std::size_t>(seen)});
        if (head.status == 0) {
            if (static_cast<std::size_t>(seen) == sizeof buffer) return {};
            usleep(100);  // the rest of the head is on its way
            continue;
        }
        if (recv(fd, buffer, head.head_size, MSG_WAITALL) < 0) return {};
        return head;
    }
}

bool discard(int fd, std::uint64_t size) {
    static char unused[1 << 20];
    while (size != 0) {
        const std::size_t most = std::min<std::uint64_t>(size, sizeof unused);
        const ssize_t got = recv(fd, unused, most, MSG_TRUNC);
        if (got <= 0) return false;
        size -= static_cast<std::uint64_t>(got);
    }
    return true;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 4) {
        std::fprintf(stderr, "usage: download_sink ADDR PATH TIMES\n");
        return 2;
    }
    const int fd = bench::connect_from_loopback(bench::parse_address(argv[1]), 0);
    if (fd < 0) bench::fail("connect");
    const std::string request =
        std::string{"GET "} + argv[2] + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    const auto begin = std::chrono::steady_clock::now();
    std::uint64_t bytes = 0;
    for (unsigned long times = std::strtoul(argv[3], nullptr, 10); times != 0; --times) {
        if (!bench::send_all(fd, request)) bench::fail("send");
        const bench::response_head head = receive_head(fd);
        if (head.status != 200 || !discard(fd, head.body_size)) {
            std::fprintf(stderr, "the download failed (status %d)\n", head.status);
            return 1;
        }
        bytes += head.body_size;
    }
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    std::printf("bytes %llu seconds %.6f\n", static_cast<unsigned long long>(bytes), spent.count());
}
