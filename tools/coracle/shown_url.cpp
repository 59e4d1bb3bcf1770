#include "shown_url.hpp"

#include <coracle/base/url.hpp>

#include <string_view>

namespace coracle::tool {

std::string without_secrets(const std::string& url) {
    if (const auto u = coracle::url::parse(url)) return u->redacted();
    constexpr std::string_view behind_scheme = "://";
    const std::size_t scheme = url.find(behind_scheme);
    const std::size_t from = scheme == std::string::npos ? 0 : scheme + behind_scheme.size();
    const std::size_t at = url.rfind('@');
    if (at == std::string::npos || at < from) return url;
    return url.substr(0, from) + url.substr(at + 1);
}

}  // namespace coracle::tool
