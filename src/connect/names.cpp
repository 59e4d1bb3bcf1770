#include "connect/names.hpp"

#include "base/ascii.hpp"
#include "base/whole_number.hpp"

#include <algorithm>

namespace coracle::connect {

std::optional<std::uint16_t> read_port(std::string_view digits) noexcept {
    const auto port = coracle::detail::whole_number<std::uint16_t>(digits);
    return port == 0 ? std::nullopt : port;
}

std::optional<host_port> split_host_port(std::string_view text, std::uint16_t usual) noexcept {
    host_port out{text, usual};
    std::string_view behind;
    if (text.starts_with('[')) {
        const std::size_t bracket = text.find(']');
        if (bracket == std::string_view::npos) return {};
        out.host = text.substr(1, bracket - 1);
        behind = text.substr(bracket + 1);
    } else if (const std::size_t colon = text.find(':'); colon == text.rfind(':')) {
        out.host = text.substr(0, colon);
        if (colon != std::string_view::npos) behind = text.substr(colon);
    }
    if (out.host.empty()) return {};
    if (behind.empty() || behind == ":") return out;
    const auto port = behind.front() == ':' ? read_port(behind.substr(1)) : std::nullopt;
    if (!port) return {};
    out.port = *port;
    return out;
}

bool is_sendable(std::string_view host) noexcept {
    const auto is_wrong = [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == '\x7f' ||
               std::string_view("/?#@[]\"<>\\^`{|}").find(c) != std::string_view::npos;
    };
    return !host.empty() && std::none_of(host.begin(), host.end(), is_wrong);
}

std::string host_and_port(std::string_view host, std::uint16_t port) {
    const bool is_v6 = host.find(':') != std::string_view::npos;
    std::string text = is_v6 ? "[" : "";
    text += host;
    text += is_v6 ? "]:" : ":";
    text += std::to_string(port);
    return text;
}

std::string_view plain_host(std::string_view host) noexcept {
    if (host.size() > 1 && host.front() == '[' && host.back() == ']') {
        return host.substr(1, host.size() - 2);
    }
    if (host.size() > 1 && host.back() == '.') host.remove_suffix(1);
    return host;
}

bool same_name(std::string_view a, std::string_view b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
        return coracle::detail::lower(x) == coracle::detail::lower(y);
    });
}

}  // namespace coracle::connect
