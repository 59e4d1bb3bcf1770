// The blocking twin of coro_twin: a thread per connection on plain sockets, with keep-alive.
//
//   GET /repeat?count=N    responds with N bytes 'x'
//   GET /sleep?ms=N        sleeps N milliseconds, then responds "slept N ms\n"
//
//   blocking_twin 127.0.0.1:PORT             port 0: the system picks one

#include "../support/sockets.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <ctime>
#include <string>
#include <system_error>
#include <thread>

namespace {

constexpr int most_bytes = 1 << 20;
constexpr int most_milliseconds = 10000;

// The number behind `name=` in the query of a request target, or -1.
int query_number(std::string_view target, std::string_view name) {
    std::size_t at = target.find('?');
    while (at != target.npos) {
        std::string_view rest = target.substr(at + 1);
        if (rest.starts_with(name) && rest.substr(name.size()).starts_with('=')) {
            rest.remove_prefix(name.size() + 1);
            int value = -1;
            std::from_chars(rest.data(), rest.data() + rest.size(), value);
            return value;
        }
        at = target.find('&', at + 1);
    }
    return -1;
}

std::string date_now() {
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    gmtime_r(&now, &parts);
    char text[32];
    return {text, std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts)};
}

std::string response(std::string_view status, std::string_view body) {
    std::string out = "HTTP/1.1 ";
    out += status;
    out += "\r\nDate: " + date_now();
    out += "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ";
    out += std::to_string(body.size()) + "\r\n\r\n";
    out += body;
    return out;
}

std::string handle(std::string_view target) {
    const std::string_view path = target.substr(0, target.find('?'));
    if (path == "/repeat") {
        const int count = query_number(target, "count");
        if (count < 0 || count > most_bytes) return response("400 Bad Request", "count is wrong\n");
        return response("200 OK", std::string(static_cast<std::size_t>(count), 'x'));
    }
    if (path == "/sleep") {
        const int ms = query_number(target, "ms");
        if (ms < 0 || ms > most_milliseconds) return response("400 Bad Request", "ms is wrong\n");
        std::this_thread::sleep_for(std::chrono::milliseconds{ms});
        return response("200 OK", "slept " + std::to_string(ms) + " ms\n");
    }
    return response("404 Not Found", "not found\n");
}

// Serves one connection until its peer ends it. Requests have no body: only GET is understood.
void serve(int fd) {
    std::string bytes;
    char buffer[4096];
    for (;;) {
        const std::size_t end = bytes.find("\r\n\r\n");
        if (end == bytes.npos) {
            const ssize_t size = bytes.size() < 65536 ? recv(fd, buffer, sizeof buffer, 0) : 0;
            if (size <= 0) break;
            bytes.append(buffer, static_cast<std::size_t>(size));
            continue;
        }
        std::string_view target{bytes};
        target.remove_prefix(std::min(target.find(' ') + 1, target.size()));
        const bool sent = bytes.starts_with("GET ")
                              ? bench::send_all(fd, handle(target.substr(0, target.find(' '))))
                              : false;
        bytes.erase(0, end + 4);
        if (!sent) break;
    }
    close(fd);
}

}  // namespace

int main(int argc, char** argv) {
    bench::raise_descriptor_limit();
    const int listener = bench::listen_and_announce(argc > 1 ? argv[1] : "127.0.0.1:8080", 0);
    for (;;) {
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0) {
            if (errno == EINTR || errno == ECONNABORTED) continue;
            bench::fail("accept");
        }
        try {
            std::thread{serve, fd}.detach();
        } catch (const std::system_error&) {
            close(fd);  // no thread to be had: the peer sees a reset
        }
    }
}
