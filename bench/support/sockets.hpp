#pragma once

// The few socket calls that every program under bench/ needs. Loopback IPv4 only.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace bench {

[[noreturn]] inline void fail(const char* what) {
    std::perror(what);
    std::exit(1);
}

// "127.0.0.1:8080" or "http://127.0.0.1:8080/" as an address; ends the program on anything else.
inline sockaddr_in parse_address(std::string_view text) {
    constexpr std::string_view scheme = "http://";
    if (text.starts_with(scheme)) text.remove_prefix(scheme.size());
    if (text.ends_with('/')) text.remove_suffix(1);
    const std::size_t colon = text.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    const std::string host{text.substr(0, colon)};
    const std::string port{colon == text.npos ? std::string_view{} : text.substr(colon + 1)};
    if (port.empty() || inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) {
        std::fprintf(stderr, "not an address of the form 127.0.0.1:PORT: %s\n", host.c_str());
        std::exit(2);
    }
    address.sin_port = htons(static_cast<std::uint16_t>(std::strtoul(port.c_str(), nullptr, 10)));
    return address;
}

// Raises the soft limit of descriptors to the hard limit: 10,000 connections need 10,000.
inline void raise_descriptor_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

// Listens on `text` and prints the address, with the port that the system picked for port 0.
// `flags` is 0 or SOCK_NONBLOCK.
inline int listen_and_announce(std::string_view text, int flags, const char* scheme = "http") {
    sockaddr_in address = parse_address(text);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) fail("socket");
    const int on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);  // accepted sockets inherit it
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
    if (listen(fd, 16384) != 0) fail("listen");  // the kernel cuts it to net.core.somaxconn
    socklen_t length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    std::printf("listening on %s://%s:%u\n", scheme, host, unsigned{ntohs(address.sin_port)});
    std::fflush(stdout);
    return fd;
}

// Binds a datagram socket, and announces its port.
inline int bind_and_announce(std::string_view text, int flags) {
    sockaddr_in address = parse_address(text);
    const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | flags, 0);
    if (fd < 0) fail("socket");
    const int size = 4 << 20;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    if (bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) fail("bind");
    socklen_t length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &address.sin_addr, host, sizeof host);
    std::printf("listening on udp://%s:%u\n", host, unsigned{ntohs(address.sin_port)});
    std::fflush(stdout);
    return fd;
}

// Connects connection number `index`. Each 20,000 connections leave from another 127.0.0.x, so
// that the range of local ports (28,232 by default) does not run out. Returns -1 with errno set.
inline int connect_from_loopback(const sockaddr_in& peer, std::size_t index) {
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return -1;
    const int on = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (index >= 20000) {
        setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
        sockaddr_in source{};
        source.sin_family = AF_INET;
        source.sin_addr.s_addr = htonl(INADDR_LOOPBACK + static_cast<std::uint32_t>(index / 20000));
        if (bind(fd, reinterpret_cast<const sockaddr*>(&source), sizeof source) != 0) {
            close(fd);
            return -1;
        }
    }
    if (connect(fd, reinterpret_cast<const sockaddr*>(&peer), sizeof peer) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

inline bool send_all(int fd, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
}

}  // namespace bench
