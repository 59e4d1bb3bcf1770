#include "http/forwarded/origin.hpp"

#include "http/h1/target.hpp"

#include <coracle/base/url.hpp>

#include <algorithm>

namespace coracle::http::detail {

bool is_origin(std::string_view text) {
    const std::size_t end = text.find("://");
    if (end == text.npos || std::ranges::any_of(text, [](char c) { return c >= 'A' && c <= 'Z'; }))
        return false;
    const std::string_view scheme = text.substr(0, end);
    const std::string_view host = text.substr(end + 3);
    if (scheme == "http" || scheme == "https") {
        const auto parsed = url::parse(text);
        return parsed && parsed->authority() == host;
    }
    // Pages are never of these, and whoever lists one means http or https.
    if (scheme == "ws" || scheme == "wss" || scheme == "ftp") return false;
    constexpr std::string_view more = "+-.0123456789";
    const bool is_scheme = std::ranges::all_of(
        scheme, [more](char c) { return (c >= 'a' && c <= 'z') || more.find(c) != more.npos; });
    return is_scheme && !scheme.empty() && !host.empty() && h1::is_host(host);
}

}  // namespace coracle::http::detail
