// The least program that echoes datagrams: the lower bound of those figures.
//
//   raw_udp_echo 127.0.0.1:PORT single|batch      one at a time; or 64, by recvmmsg and sendmmsg

#include "../support/sockets.hpp"

#include <poll.h>

#include <cerrno>
#include <string_view>

namespace {

constexpr unsigned most = 64;
constexpr std::size_t room = 2048;
char bytes[most][room];
sockaddr_in peers[most];

void wait_for(int fd, short events) {
    pollfd p{fd, events, 0};
    poll(&p, 1, -1);
}

void echo_singly(int fd) {
    for (;;) {
        socklen_t size = sizeof peers[0];
        const ssize_t n =
            recvfrom(fd, bytes[0], room, 0, reinterpret_cast<sockaddr*>(&peers[0]), &size);
        if (n < 0) {
            if (errno == EAGAIN) wait_for(fd, POLLIN);
            continue;
        }
        sendto(fd, bytes[0], static_cast<std::size_t>(n), 0,
               reinterpret_cast<const sockaddr*>(&peers[0]), size);
    }
}

void echo_in_batches(int fd) {
    mmsghdr headers[most] = {};
    iovec parts[most];
    for (;;) {
        for (unsigned i = 0; i != most; ++i) {
            parts[i] = {bytes[i], room};
            headers[i].msg_hdr.msg_iov = &parts[i];
            headers[i].msg_hdr.msg_iovlen = 1;
            headers[i].msg_hdr.msg_name = &peers[i];
            headers[i].msg_hdr.msg_namelen = sizeof peers[i];
        }
        const int n = recvmmsg(fd, headers, most, 0, nullptr);
        if (n < 0) {
            if (errno == EAGAIN) wait_for(fd, POLLIN);
            continue;
        }
        for (int i = 0; i != n; ++i) parts[i].iov_len = headers[i].msg_len;
        sendmmsg(fd, headers, static_cast<unsigned>(n), 0);
        if (static_cast<unsigned>(n) < most) wait_for(fd, POLLIN);
    }
}

}  // namespace

int main(int argc, char** argv) {
    const char* where = argc > 1 ? argv[1] : "127.0.0.1:7777";
    const int fd = bench::bind_and_announce(where, SOCK_NONBLOCK);
    if (argc > 2 && std::string_view(argv[2]) == "batch") echo_in_batches(fd);
    echo_singly(fd);
}
