#include <coracle/net/address.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace coracle::net {
namespace {

template <class Number>
bool read_number(std::string_view text, Number& out) noexcept {
    const char* end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, out);
    return r.ec == std::errc() && r.ptr == end && !text.empty();
}

std::unexpected<error> bad_address(std::string_view text) {
    const std::string subject =
        std::string(text) + " (write it as 127.0.0.1:80, [::1]:80, :80 or unix:/path)";
    return std::unexpected(error(std::errc::invalid_argument, "address").on(subject));
}

constexpr std::size_t longest_path = sizeof(sockaddr_un::sun_path) - 1;

std::unexpected<error> path_too_long(std::string_view path) {
    std::string subject("unix:");
    subject.append(path);
    subject.append(": " + std::to_string(path.size()) + " bytes; the path of a Unix socket has " +
                   std::to_string(longest_path) + " at most");
    return std::unexpected(error(std::errc::filename_too_long, "address").on(subject));
}

template <class Sockaddr>
Sockaddr read_as(const endpoint& e) noexcept {
    Sockaddr s{};
    std::memcpy(&s, e.bytes, e.size < sizeof s ? e.size : sizeof s);
    return s;
}

template <class Sockaddr>
endpoint write_as(const Sockaddr& s, std::size_t size) noexcept {
    endpoint e;
    std::memcpy(e.bytes, &s, size);
    e.size = static_cast<std::uint32_t>(size);
    return e;
}

}  // namespace

address address::v4(std::array<std::uint8_t, 4> bytes, std::uint16_t port) noexcept {
    address a;
    a.family_ = net::family::v4;
    a.port_ = port;
    std::memcpy(a.bytes_.data(), bytes.data(), bytes.size());
    return a;
}

address address::v6(std::array<std::uint8_t, 16> bytes, std::uint16_t port,
                    std::uint32_t scope) noexcept {
    address a;
    a.family_ = net::family::v6;
    a.port_ = port;
    a.scope_ = scope;
    a.bytes_ = bytes;
    return a;
}

std::expected<address, error> address::parse(std::string_view text) {
    // The system would read it as the end of the text.
    if (text.find('\0') != std::string_view::npos) return bad_address(text);
    if (text.starts_with("unix:")) {
        const std::string_view path = text.substr(5);
        if (path.empty()) return bad_address(text);
        if (path.size() > longest_path) return path_too_long(path);
        address a;
        a.family_ = net::family::unix_path;
        a.path_ = std::make_shared<const std::string>(path);
        return a;
    }
    const std::size_t colon = text.rfind(':');
    const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
    std::uint16_t port = 0;
    if (!read_number(digits, port)) return bad_address(text);
    std::string host(colon == std::string_view::npos ? "" : text.substr(0, colon));
    if (host.empty()) return v4({}, port);
    if (host == "localhost") return v4({127, 0, 0, 1}, port);
    if (host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
        std::uint32_t scope = 0;
        if (const std::size_t percent = host.find('%'); percent != std::string::npos) {
            if (!read_number(std::string_view(host).substr(percent + 1), scope)) {
                return bad_address(text);
            }
            host.resize(percent);
        }
        std::array<std::uint8_t, 16> bytes{};
        if (::inet_pton(AF_INET6, host.c_str(), bytes.data()) != 1) return bad_address(text);
        return v6(bytes, port, scope);
    }
    std::array<std::uint8_t, 4> bytes{};
    if (::inet_pton(AF_INET, host.c_str(), bytes.data()) != 1) return bad_address(text);
    return v4(bytes, port);
}

address address::from(const endpoint& e) {
    if (e.size < sizeof(sa_family_t)) return {};
    const auto family = read_as<sockaddr>(e).sa_family;
    if (family == AF_INET) {
        const auto s = read_as<sockaddr_in>(e);
        std::array<std::uint8_t, 4> bytes{};
        std::memcpy(bytes.data(), &s.sin_addr, bytes.size());
        return v4(bytes, ntohs(s.sin_port));
    }
    if (family == AF_INET6) {
        const auto s = read_as<sockaddr_in6>(e);
        std::array<std::uint8_t, 16> bytes{};
        std::memcpy(bytes.data(), &s.sin6_addr, bytes.size());
        return v6(bytes, ntohs(s.sin6_port), s.sin6_scope_id);
    }
    address a;
    if (family != AF_UNIX) return a;
    a.family_ = net::family::unix_path;
    const auto s = read_as<sockaddr_un>(e);
    if (e.size > offsetof(sockaddr_un, sun_path)) {
        // The system counts a NUL after a path that fills the field, though none is there
        // (unix(7)).
        const std::size_t size =
            std::min<std::size_t>(e.size, sizeof s) - offsetof(sockaddr_un, sun_path);
        std::string path = s.sun_path[0] == '\0'
                               ? "@" + std::string(s.sun_path + 1, size - 1)
                               : std::string(s.sun_path, ::strnlen(s.sun_path, size));
        a.path_ = std::make_shared<const std::string>(std::move(path));
    }
    return a;
}

endpoint address::to_endpoint() const noexcept {
    switch (family_) {
        case net::family::v4: {
            sockaddr_in s{};
            s.sin_family = AF_INET;
            s.sin_port = htons(port_);
            std::memcpy(&s.sin_addr, bytes_.data(), sizeof s.sin_addr);
            return write_as(s, sizeof s);
        }
        case net::family::v6: {
            sockaddr_in6 s{};
            s.sin6_family = AF_INET6;
            s.sin6_port = htons(port_);
            s.sin6_scope_id = scope_;
            std::memcpy(&s.sin6_addr, bytes_.data(), sizeof s.sin6_addr);
            return write_as(s, sizeof s);
        }
        case net::family::unix_path: {
            sockaddr_un s{};
            s.sun_family = AF_UNIX;
            const std::size_t size = path_ ? std::min(path_->size(), sizeof s.sun_path) : 0;
            if (size != 0) std::memcpy(s.sun_path, path_->data(), size);
            const bool is_abstract = size != 0 && path_->front() == '@';
            if (is_abstract) s.sun_path[0] = '\0';
            const std::size_t end = size + (is_abstract || size == sizeof s.sun_path ? 0 : 1);
            return write_as(s, offsetof(sockaddr_un, sun_path) + end);
        }
        case net::family::none: break;
    }
    return {};
}

bool address::is_loopback() const noexcept {
    if (family_ == net::family::v4) return bytes_[0] == 127;
    if (family_ != net::family::v6) return family_ == net::family::unix_path;
    if (is_mapped()) return bytes_[12] == 127;
    std::array<std::uint8_t, 16> loopback{};
    loopback[15] = 1;
    return bytes_ == loopback;
}

bool address::is_mapped() const noexcept {
    constexpr std::array<std::uint8_t, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
    return family_ == net::family::v6 && std::ranges::equal(bytes().first(12), mapped);
}

std::string address::host() const {
    char text[INET6_ADDRSTRLEN] = "";
    switch (family_) {
        case net::family::v4: ::inet_ntop(AF_INET, bytes_.data(), text, sizeof text); return text;
        case net::family::v6:
            ::inet_ntop(AF_INET6, bytes_.data(), text, sizeof text);
            return scope_ == 0 ? text : std::string(text) + '%' + std::to_string(scope_);
        case net::family::unix_path: return "unix:" + (path_ ? *path_ : std::string());
        case net::family::none: break;
    }
    return {};
}

std::string address::to_string() const {
    switch (family_) {
        case net::family::v4: return host() + ':' + std::to_string(port_);
        case net::family::v6: return '[' + host() + "]:" + std::to_string(port_);
        default: return host();
    }
}

bool operator==(const address& a, const address& b) noexcept {
    const bool same_path = a.path_ == b.path_ || (a.path_ && b.path_ && *a.path_ == *b.path_);
    return same_path && a.bytes_ == b.bytes_ && a.scope_ == b.scope_ && a.port_ == b.port_ &&
           a.family_ == b.family_;
}

}  // namespace coracle::net
