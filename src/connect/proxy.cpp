#include "base/ascii.hpp"
#include "connect/names.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/mime/base64.hpp>

#include <optional>
#include <utility>

namespace coracle::connect {
namespace {

using coracle::detail::lower;

struct named_kind {
    std::string_view name;
    proxy_kind kind;
};

constexpr named_kind kinds[] = {
    {"http", proxy_kind::http},     {"https", proxy_kind::https},
    {"socks4", proxy_kind::socks4}, {"socks4a", proxy_kind::socks4a},
    {"socks5", proxy_kind::socks5}, {"socks5h", proxy_kind::socks5h},
    {"socks", proxy_kind::socks4},  // as curl has it
};

std::optional<proxy_kind> kind_of(std::string_view scheme) {
    const std::string wanted = lower(scheme);
    for (const named_kind& k : kinds) {
        if (k.name == wanted) return k.kind;
    }
    return {};
}

/// Removes and returns the text before the separator; nothing if there is none.
std::optional<std::string_view> take_before(std::string_view& text, std::size_t separator,
                                            std::size_t size) noexcept {
    if (separator == std::string_view::npos) return {};
    const std::string_view before = text.substr(0, separator);
    text.remove_prefix(separator + size);
    return before;
}

/// Reads the user info into `p`. Returns false if it cannot be decoded.
bool read_credentials(std::string_view text, proxy& p) {
    const std::size_t colon = text.find(':');
    auto user = percent_decode(text.substr(0, colon));
    if (!user) return false;
    if (colon == std::string_view::npos) {
        p.credentials(*std::move(user), {});
        return true;
    }
    auto password = percent_decode(text.substr(colon + 1));
    if (!password) return false;
    p.credentials(*std::move(user), secret(*std::move(password)));
    return true;
}

}  // namespace

std::string_view to_string(proxy_kind k) noexcept {
    for (const named_kind& n : kinds) {
        if (n.kind == k) return n.name;
    }
    return "";
}

proxy::proxy(proxy_kind kind, std::string host, std::uint16_t port)
    : kind_(kind), port_(port), host_(std::move(host)) {}

std::expected<proxy, error> proxy::parse(std::string_view url) {
    // In a malformed URL any part may be the password: the error shows none of it.
    const auto bad = [](const char* what) {
        return std::unexpected(error(std::errc::invalid_argument, "proxy").on(what));
    };
    auto kind = std::optional(proxy_kind::http);
    if (const auto scheme = take_before(url, url.find("://"), 3)) {
        kind = kind_of(*scheme);
        if (!kind) return bad("no such kind of proxy");
    }
    std::string_view authority = url.substr(0, url.find_first_of("/?#"));
    // Without this check the user would be taken for the host, and would get the bytes for the
    // proxy.
    if (url.find('@', authority.size()) != std::string_view::npos) {
        return bad("'/', '?' or '#' before '@' has to be percent-encoded");
    }
    const auto user_info = take_before(authority, authority.rfind('@'), 1);
    const std::uint16_t usual = *kind == proxy_kind::https ? default_https_port : default_port;
    const auto where = split_host_port(authority, usual);
    if (!where || !is_sendable(where->host)) return bad("no host or a bad port");
    std::string host(where->host);
    // RFC 6874 section 2: the zone of an address, behind a percent sign that is encoded.
    const std::size_t zone = host.find("%25");
    if (zone != std::string::npos && host.find(':') < zone) host.erase(zone + 1, 2);
    proxy p(*kind, std::move(host), where->port);
    if (user_info && !read_credentials(*user_info, p)) return bad("user or password");
    return p;
}

proxy& proxy::credentials(std::string user, secret password) {
    has_credentials_ = true;
    user_ = std::move(user);
    password_ = std::move(password);
    return *this;
}

proxy& proxy::authenticator(std::shared_ptr<proxy_authenticator> a) noexcept {
    authenticator_ = std::move(a);
    return *this;
}

proxy& proxy::tls(std::shared_ptr<tls::client_context> context) noexcept {
    tls_ = std::move(context);
    return *this;
}

secret proxy::basic_authorization() const {
    if (!has_credentials_) return {};
    std::string plain;
    // Reserves all of it, so that growing leaves no part of it in a freed block.
    plain.reserve(user_.size() + 1 + password_.reveal().size());
    plain += user_;
    plain += ':';
    plain += password_.reveal();
    std::string encoded = mime::base64_encode(plain);
    wipe(plain.data(), plain.size());
    std::string value;
    value.reserve(6 + encoded.size());
    value += "Basic ";
    value += encoded;
    wipe(encoded.data(), encoded.size());
    return secret(std::move(value));
}

std::string proxy::to_string() const {
    std::string text(connect::to_string(kind_));
    text += "://";
    text += host_and_port(host_, port_);
    return text;
}

}  // namespace coracle::connect
