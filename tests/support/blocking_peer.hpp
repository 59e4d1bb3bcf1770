#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// A blocking connection to a port of 127.0.0.1 that allocates nothing and waits 30 s at the most.
class blocking_peer {
public:
    explicit blocking_peer(std::uint16_t port)
        : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const timeval patience{30, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
    }
    blocking_peer(blocking_peer&& other) noexcept
        : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}
    ~blocking_peer() {
        if (fd_ >= 0) ::close(fd_);
    }

    /// Closes it with a reset.
    void reset() noexcept {
        const linger at_once{1, 0};
        ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        ::close(std::exchange(fd_, -1));
    }

    bool connected() const noexcept { return connected_; }
    bool send(std::string_view bytes) noexcept {
        return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
               static_cast<ssize_t>(bytes.size());
    }
    /// Returns true if the server has closed or reset it. Does not wait.
    bool is_closed() noexcept {
        const ssize_t n = ::recv(fd_, received_, sizeof received_, MSG_DONTWAIT);
        return n == 0 || (n < 0 && errno != EAGAIN);
    }
    /// Receives until what came ends with `end`; false when the server or the patience ends first.
    bool receive_until(std::string_view end) noexcept {
        size_ = 0;
        while (size_ < sizeof received_) {
            const ssize_t n = ::recv(fd_, received_ + size_, sizeof received_ - size_, 0);
            // A ring that this thread has had interrupts it once more when it is taken apart.
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return false;
            size_ += static_cast<std::size_t>(n);
            if (received().ends_with(end)) return true;
        }
        return false;
    }
    /// The bytes that `receive_until` received last.
    std::string_view received() const noexcept { return {received_, size_}; }

private:
    int fd_;
    bool connected_ = false;
    char received_[4096];
    std::size_t size_ = 0;
};

}  // namespace coracle::testing
