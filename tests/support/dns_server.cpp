#include "support/dns_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>

namespace coracle::testing {
namespace {

constexpr std::size_t header_size = 12;

std::string number(std::uint32_t n, int bytes) {
    std::string text;
    for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) {
        text += static_cast<char>(n >> shift & 0xff);
    }
    return text;
}

std::string encoded(const std::string& name) {
    std::string text;
    for (std::size_t at = 0; at < name.size();) {
        const std::size_t end = std::min(name.find('.', at), name.size());
        text += static_cast<char>(end - at);
        text += name.substr(at, end - at);
        at = end + 1;
    }
    return text + '\0';
}

std::string packed(int family, const std::string& text) {
    char bytes[16] = {};
    if (::inet_pton(family, text.c_str(), bytes) != 1) throw std::invalid_argument(text);
    return {bytes, family == AF_INET ? 4u : 16u};
}

std::string name_in(const std::string& bytes) {
    std::string name;
    for (std::size_t at = header_size; at < bytes.size() && bytes[at] != 0;) {
        const auto size = static_cast<std::size_t>(bytes[at]);
        if (!name.empty()) name += '.';
        name += bytes.substr(at + 1, size);
        at += size + 1;
    }
    return name;
}

std::uint16_t bound_port(int fd) {
    sockaddr_in s{};
    socklen_t size = sizeof s;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&s), &size);
    return ntohs(s.sin_port);
}

bool bind_loopback(int fd, std::uint16_t port) {
    sockaddr_in s{};
    s.sin_family = AF_INET;
    s.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s.sin_port = htons(port);
    return ::bind(fd, reinterpret_cast<const sockaddr*>(&s), sizeof s) == 0;
}

bool read_all(int fd, char* into, std::size_t size) {
    while (size != 0) {
        const ssize_t n = ::recv(fd, into, size, 0);
        if (n <= 0) return false;
        into += n;
        size -= static_cast<std::size_t>(n);
    }
    return true;
}

}  // namespace

net::resolver_options asking(std::vector<net::address> servers) {
    net::resolver_options o;
    o.servers = std::move(servers);
    o.configuration.clear();
    o.hosts.clear();
    return o;
}

dns_reply::dns_reply(const dns_query& q)
    : head_(q.bytes.substr(0, 2) + "\x81\x80"), question_(q.bytes.substr(header_size)) {}

dns_reply& dns_reply::code(unsigned c) {
    head_[3] = static_cast<char>(0x80 | c);
    return *this;
}

dns_reply& dns_reply::truncated() {
    head_[2] = static_cast<char>(head_[2] | 2);
    return *this;
}

dns_reply& dns_reply::other_id() {
    head_[0] = static_cast<char>(head_[0] ^ 0x55);
    return *this;
}

dns_reply& dns_reply::question(const std::string& name) {
    question_ = encoded(name) + question_.substr(question_.size() - 4);
    return *this;
}

dns_reply& dns_reply::record(const std::string& owner, std::uint16_t type, std::uint32_t ttl,
                             const std::string& data) {
    ++record_count_;
    // The usual pointer to the question where it fits.
    records_ += question_.starts_with(encoded(owner)) ? "\xc0\x0c" : encoded(owner);
    records_ += number(type, 2) + number(1, 2) + number(ttl, 4) +
                number(static_cast<std::uint32_t>(data.size()), 2) + data;
    return *this;
}

dns_reply& dns_reply::a(const std::string& owner, const std::string& text, std::uint32_t ttl) {
    return record(owner, dns_a, ttl, packed(AF_INET, text));
}

dns_reply& dns_reply::aaaa(const std::string& owner, const std::string& text, std::uint32_t ttl) {
    return record(owner, dns_aaaa, ttl, packed(AF_INET6, text));
}

dns_reply& dns_reply::cname(const std::string& owner, const std::string& target,
                            std::uint32_t ttl) {
    return record(owner, 5, ttl, encoded(target));
}

dns_reply& dns_reply::mx(const std::string& owner, std::uint16_t preference,
                         const std::string& host, std::uint32_t ttl) {
    return record(owner, dns_mx, ttl, number(preference, 2) + encoded(host));
}

dns_reply& dns_reply::soa(std::uint32_t ttl, std::uint32_t minimum) {
    ++authorities_;
    const std::string data = encoded("ns.test") + encoded("post.test") + number(1, 4) +
                             number(2, 4) + number(3, 4) + number(4, 4) + number(minimum, 4);
    authority_ += encoded("test") + number(6, 2) + number(1, 2) + number(ttl, 4) +
                  number(static_cast<std::uint32_t>(data.size()), 2) + data;
    return *this;
}

std::string dns_reply::bytes() const {
    return head_ + number(1, 2) + number(record_count_, 2) + number(authorities_, 2) +
           number(0, 2) + question_ + records_ + authority_;
}

dns_server::dns_server(script s) : script_(std::move(s)) {
    // The port that UDP gets may be taken for TCP: then another.
    for (int attempt = 0; attempt != 50; ++attempt) {
        datagrams_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        bind_loopback(datagrams_, 0);
        const std::uint16_t port = bound_port(datagrams_);
        if (bind_loopback(listener_, port) && ::listen(listener_, 100) == 0) {
            at_ = net::address::v4({127, 0, 0, 1}, port);
            break;
        }
        ::close(datagrams_);
        ::close(listener_);
    }
    if (at_.port() == 0 || ::pipe(end_) != 0) throw std::runtime_error("dns_server: no port");
    thread_ = std::thread([this] { run(); });
}

dns_server::~dns_server() {
    ::close(end_[1]);
    thread_.join();
    ::close(end_[0]);
    ::close(datagrams_);
    ::close(listener_);
}

unsigned dns_server::asked(const std::string& name, std::uint16_t type) {
    const std::lock_guard lock(mutex_);
    return counts_[{name, type}];
}

void dns_server::run() {
    std::vector<pollfd> all{{datagrams_, POLLIN, 0}, {listener_, POLLIN, 0}, {end_[0], POLLIN, 0}};
    for (;;) {
        ::poll(all.data(), all.size(), -1);
        if (all[2].revents != 0) break;
        if (all[0].revents != 0) respond_to_datagram();
        for (std::size_t i = 3; i < all.size(); ++i) {
            if (all[i].revents == 0 || respond_to_connection(all[i].fd)) continue;
            ::close(all[i].fd);
            all[i].fd = -1;
        }
        std::erase_if(all, [](const pollfd& p) { return p.fd < 0; });
        if (all[1].revents == 0) continue;
        const int fd = ::accept(listener_, nullptr, nullptr);
        if (fd >= 0) all.push_back({fd, POLLIN, 0});
    }
    for (std::size_t i = 3; i < all.size(); ++i) ::close(all[i].fd);
}

std::vector<std::string> dns_server::ask_script(std::string bytes, bool tcp, std::uint16_t from) {
    dns_query q;
    q.name = name_in(bytes);
    q.type = static_cast<std::uint16_t>(static_cast<unsigned char>(bytes[bytes.size() - 3]));
    q.tcp = tcp;
    q.from_port = from;
    q.bytes = std::move(bytes);
    {
        const std::lock_guard lock(mutex_);
        q.nth = ++counts_[{q.name, q.type}];
        ++from_[from];
        ports_ = from_.size();
    }
    ++asked_;
    return script_(q);
}

void dns_server::respond_to_datagram() {
    char bytes[2048];
    sockaddr_in from{};
    socklen_t size = sizeof from;
    const ssize_t n =
        ::recvfrom(datagrams_, bytes, sizeof bytes, 0, reinterpret_cast<sockaddr*>(&from), &size);
    if (n < static_cast<ssize_t>(header_size + 5)) return;
    for (const std::string& m :
         ask_script({bytes, static_cast<std::size_t>(n)}, false, ntohs(from.sin_port))) {
        ::sendto(datagrams_, m.data(), m.size(), MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&from), size);
    }
}

bool dns_server::respond_to_connection(int fd) {
    unsigned char size[2];
    if (!read_all(fd, reinterpret_cast<char*>(size), 2)) return false;
    std::string bytes(std::size_t{size[0]} * 256 + size[1], '\0');
    if (!read_all(fd, bytes.data(), bytes.size())) return false;
    for (const std::string& m : ask_script(bytes, true, 0)) {
        const std::string framed = number(static_cast<std::uint32_t>(m.size()), 2) + m;
        ::send(fd, framed.data(), framed.size(), MSG_NOSIGNAL);
    }
    return true;
}

}  // namespace coracle::testing
