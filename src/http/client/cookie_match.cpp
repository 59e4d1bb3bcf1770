#include "http/client/cookie_match.hpp"

#include "base/ascii.hpp"

#include <cstddef>

namespace coracle::http::detail {

// Every form of an IPv4 address ends in a label of digits, and no host name does.
bool is_ip_host(std::string_view host) noexcept {
    if (host.find(':') != std::string_view::npos) return true;
    const std::string_view last = host.substr(host.rfind('.') + 1);
    return !last.empty() && last.find_first_not_of("0123456789") == std::string_view::npos;
}

// Does not check the rules of DNS: underscores and the like pass.
bool is_cookie_domain(std::string_view domain) noexcept {
    bool label_begins = true;
    for (const char c : domain) {
        const bool dot = c == '.';
        const bool visible = c > ' ' && c < 0x7f && coracle::detail::lower(c) == c;
        constexpr std::string_view delimiters = "#/;";
        if (dot ? label_begins : !visible || delimiters.find(c) != std::string_view::npos) {
            return false;
        }
        label_begins = dot;
    }
    return !label_begins && domain.size() <= 253;
}

bool domain_matches(std::string_view host, std::string_view domain) noexcept {
    if (host == domain) return true;
    return host.size() > domain.size() && host.ends_with(domain) &&
           host[host.size() - domain.size() - 1] == '.' && !is_ip_host(host);
}

std::string_view default_path(std::string_view request_path) noexcept {
    const std::size_t last = request_path.rfind('/');
    if (!request_path.starts_with('/') || last == 0) return "/";
    return request_path.substr(0, last);
}

bool path_matches(std::string_view request_path, std::string_view cookie_path) noexcept {
    if (!request_path.starts_with(cookie_path)) return false;
    return request_path.size() == cookie_path.size() || cookie_path.ends_with('/') ||
           request_path[cookie_path.size()] == '/';
}

}  // namespace coracle::http::detail
