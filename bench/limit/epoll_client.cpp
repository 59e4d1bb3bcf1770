// The least program that makes calls: GETs of one URL over keep-alive connections on raw epoll, the
// lower bound that every figure of the clients is given against. One send and one recv per request,
// one epoll_ctl per connection ever; of a response it understands the status and the
// Content-Length.
//
//   epoll_client http://127.0.0.1:PORT/PATH COUNT CONCURRENCY

#include "../support/response_head.hpp"
#include "../support/sockets.hpp"
#include "../support/spent.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

namespace {

struct connection {
    int fd = -1;
    std::string held;  // the begin of a response that came in pieces
};

class client {
public:
    client(std::string_view url, std::size_t count, std::size_t concurrency)
        : count_{count}, connections_(std::min(count, concurrency)) {
        const std::size_t path = url.find('/', url.find("://") + 3);
        const std::string_view host = url.substr(0, path);
        peer_ = bench::parse_address(host);
        request_ = "GET ";
        request_ += path == url.npos ? "/" : url.substr(path);
        request_ += " HTTP/1.1\r\nHost: ";
        request_ += host.substr(host.find("://") + 3);
        request_ += "\r\n\r\n";
        for (std::size_t i = 0; i < connections_.size(); ++i) open(connections_[i], i);
    }

    void run() {
        for (connection& each : connections_) send_next(each);
        epoll_event events[512];
        while (ok_ + errors_ < count_) {
            const int ready = epoll_wait(epoll_, events, 512, -1);
            for (int i = 0; i < ready; ++i) receive(*static_cast<connection*>(events[i].data.ptr));
        }
    }

    std::size_t ok() const { return ok_; }
    std::size_t errors() const { return errors_; }

private:
    void open(connection& each, std::size_t index) {
        each.fd = bench::connect_from_loopback(peer_, index);
        if (each.fd < 0) bench::fail("connect");
        epoll_event event{};
        event.events = EPOLLIN;
        event.data.ptr = &each;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, each.fd, &event) != 0) bench::fail("epoll_ctl");
    }

    void send_next(connection& each) {
        if (sent_ == count_) return;
        ++sent_;
        // The socket is empty, so a request of this size always fits.
        const ssize_t sent = send(each.fd, request_.data(), request_.size(), MSG_NOSIGNAL);
        if (sent != static_cast<ssize_t>(request_.size())) bench::fail("send");
    }

    void receive(connection& each) {
        const ssize_t size = recv(each.fd, buffer_, sizeof buffer_, MSG_DONTWAIT);
        if (size < 0 && errno == EAGAIN) return;
        if (size <= 0) bench::fail("the server ended a connection");
        std::string_view bytes{buffer_, static_cast<std::size_t>(size)};
        if (!each.held.empty()) bytes = each.held += bytes;
        const bench::response_head head = bench::read_response_head(bytes);
        if (head.status == 0 || bytes.size() < head.head_size + head.body_size) {
            if (each.held.empty()) each.held = bytes;
            return;
        }
        each.held.clear();
        ++(head.status == 200 ? ok_ : errors_);
        send_next(each);
    }

    std::size_t count_;
    std::vector<connection> connections_;
    int epoll_ = epoll_create1(EPOLL_CLOEXEC);
    sockaddr_in peer_{};
    std::string request_;
    std::size_t sent_ = 0;
    std::size_t ok_ = 0;
    std::size_t errors_ = 0;
    char buffer_[65536];
};

}  // namespace

int main(int argc, char** argv) {
    const bench::calls_wanted wanted = bench::read_calls_wanted(argc, argv);
    bench::raise_descriptor_limit();
    client calls{wanted.url, wanted.count, wanted.concurrency};
    calls.run();
    return bench::report_calls(wanted.count, calls.ok(), calls.errors());
}
