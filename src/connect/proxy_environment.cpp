#include "base/whole_number.hpp"
#include "connect/names.hpp"

#include <coracle/connect/proxy_environment.hpp>
#include <coracle/net/network.hpp>

#include <cstdlib>
#include <optional>
#include <utility>

namespace coracle::connect {
namespace {

constexpr std::string_view separators = ", \t";

/// "example.com" matches the name and all names below it.
bool is_below(std::string_view host, std::string_view domain) noexcept {
    if (domain.empty() || host.size() < domain.size()) return false;
    const std::size_t before = host.size() - domain.size();
    return same_name(host.substr(before), domain) && (before == 0 || host[before - 1] == '.');
}

/// Returns true if `a` is in the network. Bits after its prefix are ignored: people write such
/// entries.
bool is_within(const net::address& a, std::string_view base, std::string_view digits) noexcept {
    const auto at = net::parse_ip(plain_host(base));
    const auto prefix = coracle::detail::whole_number<unsigned>(digits);
    return at && prefix && *prefix <= at->bytes().size() * 8 &&
           net::network::around(*at, *prefix).unmapped().contains(a);
}

class bypassed {
public:
    bypassed(std::string_view host, std::uint16_t port) noexcept
        : name_(plain_host(host)), address_(net::parse_ip(name_)), port_(port) {}

    bool by(std::string_view entry) const noexcept {
        if (entry == "*") return true;
        if (const std::size_t slash = entry.find('/'); slash != std::string_view::npos) {
            return address_ &&
                   is_within(*address_, entry.substr(0, slash), entry.substr(slash + 1));
        }
        const auto where = split_host_port(entry, port_);
        if (!where || where->port != port_) return false;
        if (address_) {
            const auto single = net::parse_ip(where->host);
            return single && net::network::around(*single, 128).unmapped().contains(*address_);
        }
        std::string_view domain = plain_host(where->host);
        if (domain.starts_with("*.")) domain.remove_prefix(1);
        if (domain.starts_with('.')) domain.remove_prefix(1);
        return is_below(name_, domain);
    }

private:
    std::string_view name_;
    std::optional<net::address> address_;
    std::uint16_t port_;
};

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

std::string variable(const char* name, const char* otherwise) {
    std::string value = variable(name);
    return value.empty() ? variable(otherwise) : value;
}

}  // namespace

bool bypasses_proxy(std::string_view no_proxy, std::string_view host, std::uint16_t port) noexcept {
    if (no_proxy.find_first_not_of(separators) == std::string_view::npos) return false;
    const bypassed subject(host, port);
    while (!no_proxy.empty()) {
        const std::size_t end = no_proxy.find_first_of(separators);
        const std::string_view entry = no_proxy.substr(0, end);
        if (!entry.empty() && subject.by(entry)) return true;
        if (end == std::string_view::npos) break;
        no_proxy.remove_prefix(end + 1);
    }
    return false;
}

proxy_environment::proxy_environment(std::string_view http, std::string_view https,
                                     std::string_view all, std::string no_proxy)
    : http_(read_entry("http_proxy", http)), https_(read_entry("https_proxy", https)),
      all_(read_entry("all_proxy", all)), no_proxy_(std::move(no_proxy)) {}

proxy_environment proxy_environment::read() {
    return {variable("http_proxy"), variable("https_proxy", "HTTPS_PROXY"),
            variable("all_proxy", "ALL_PROXY"), variable("no_proxy", "NO_PROXY")};
}

proxy_environment::entry proxy_environment::read_entry(const char* variable, std::string_view url) {
    if (url.empty()) return nullptr;
    auto p = proxy::parse(url);
    if (!p) {
        const std::string why(p.error().subject());
        return std::unexpected(std::move(p).error().on(std::string(variable) + ": " + why));
    }
    return std::make_shared<const proxy>(*std::move(p));
}

std::expected<std::shared_ptr<const proxy>, error> proxy_environment::find(
    std::string_view scheme, std::string_view host, std::uint16_t port) const {
    const entry* e = &all_;
    if (scheme == "http" || scheme == "ws") {
        e = &http_;
    } else if (scheme == "https" || scheme == "wss") {
        e = &https_;
    }
    if (e->has_value() && **e == nullptr) e = &all_;
    const bool is_direct = e->has_value() && **e == nullptr;
    if (is_direct || bypasses_proxy(no_proxy_, host, port)) return nullptr;
    return *e;
}

}  // namespace coracle::connect
