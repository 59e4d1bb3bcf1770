#pragma once

// The least loop on epoll, edge-triggered: one epoll_ctl for each connection ever.

#include "sockets.hpp"

#include <sys/epoll.h>

#include <vector>

namespace bench {

// `Derived` has `serve(fd, events, connection)`; everything is inlined into it.
template <class Derived, class Connection>
class epoll_server {
public:
    explicit epoll_server(int listener)
        : listener_{listener}, epoll_{epoll_create1(EPOLL_CLOEXEC)} {
        watch(listener_, EPOLLIN);
    }

    [[noreturn]] void run() {
        epoll_event events[512];
        for (;;) {
            const int count = epoll_wait(epoll_, events, 512, -1);
            for (int i = 0; i < count; ++i) {
                const int fd = events[i].data.fd;
                if (fd == listener_) {
                    accept_all();
                } else {
                    static_cast<Derived&>(*this).serve(fd, events[i].events,
                                                       connections_[static_cast<std::size_t>(fd)]);
                }
            }
        }
    }

private:
    void watch(int fd, std::uint32_t interest) {
        epoll_event event{};
        event.events = interest;
        event.data.fd = fd;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) fail("epoll_ctl");
    }

    void accept_all() {
        for (;;) {
            const int fd = accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
            if (fd < 0) return;
            const auto index = static_cast<std::size_t>(fd);
            if (index >= connections_.size()) connections_.resize(index + 1024);
            connections_[index] = {};
            watch(fd, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
        }
    }

    int listener_;
    int epoll_;
    std::vector<Connection> connections_;  // by descriptor
};

}  // namespace bench
