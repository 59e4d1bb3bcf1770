#pragma once

#include <coracle/connect/proxy.hpp>

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::connect {

/// Returns true if `host` is one of the hosts in `no_proxy`, which are reached without a proxy: a
/// list with commas or spaces of "*" (every host), names ("example.com" and ".example.com" are the
/// same: it and all below it), IP addresses and networks ("10.0.0.0/8", "2001:db8::/32"), each with
/// ":port" after it when only that port is meant ("[2001:db8::1]:80"). `host` is a name, with or
/// without a trailing dot, or an address with or without brackets. Case does not matter. Loopback
/// is nothing special. Names are not resolved. Malformed entries match nothing.
bool bypasses_proxy(std::string_view no_proxy, std::string_view host, std::uint16_t port) noexcept;

/// The choice of a proxy by the environment's variables. Immutable once made: may be used from all
/// threads.
class proxy_environment {
public:
    /// Uses no proxy.
    proxy_environment() = default;
    /// Takes the URL of a proxy for each scheme, as proxy::parse reads it; empty: none. A malformed
    /// one fails when it is looked up.
    proxy_environment(std::string_view http, std::string_view https, std::string_view all,
                      std::string no_proxy);

    /// Reads http_proxy (lower case only: a CGI program's HTTP_PROXY comes from the client), and
    /// https_proxy, all_proxy and no_proxy, in lower case or else in upper case. Reads the
    /// environment, which no other thread may change meanwhile.
    static proxy_environment read();

    /// The proxy for a connection to this host; null: none. `scheme` http or ws: http_proxy, https
    /// or wss: https_proxy, any other, and where these are empty: all_proxy. Fails when that URL
    /// cannot be read.
    std::expected<std::shared_ptr<const proxy>, error> find(std::string_view scheme,
                                                            std::string_view host,
                                                            std::uint16_t port) const;

    /// The hosts that are reached without a proxy, as `bypasses_proxy` takes them.
    const std::string& no_proxy() const noexcept { return no_proxy_; }

private:
    using entry = std::expected<std::shared_ptr<const proxy>, error>;
    static entry read_entry(const char* variable, std::string_view url);

    entry http_;
    entry https_;
    entry all_;
    std::string no_proxy_;
};

}  // namespace coracle::connect
