#pragma once

#include <coracle/connect/connect.hpp>
#include <coracle/connect/proxy_environment.hpp>
#include <coracle/http/client_options.hpp>
#include <coracle/tls/context.hpp>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// The options by which connections are made. Connections of one transport are interchangeable.
/// Immutable, and shared by all threads.
class transport {
public:
    /// Makes a transport, and reads the certificates of the options. Fails as `tls::client_context`
    /// and `connect::proxy::parse` do.
    static std::expected<std::shared_ptr<const transport>, error> make(
        const client_options& o, const connect::proxy_environment& environment);

    /// Returns true if connections made with `a` may be used for `b`.
    static bool same(const client_options& a, const client_options& b) noexcept;

    /// Returns true if there may be a proxy for some host.
    bool may_have_proxy() const noexcept { return proxy_ != nullptr || environment_ != nullptr; }
    /// Returns the proxy for this host; null: none.
    std::expected<std::shared_ptr<const connect::proxy>, error> proxy_for(std::string_view scheme,
                                                                          std::string_view host,
                                                                          std::uint16_t port) const;
    /// Returns true if ALPN offers HTTP/2 to origins.
    bool offers_http_2() const noexcept { return offers_http_2_; }
    /// The protocols that connections to origins offer by ALPN (RFC 7301), best first.
    const std::vector<std::string>& protocols() const noexcept { return protocols_; }
    /// Returns true if any connection may use HTTP/2.
    bool may_be_http_2() const noexcept { return offers_http_2_ || knows_http_2(); }
    /// Returns true if connections use HTTP/2 without negotiation.
    bool knows_http_2() const noexcept { return options_.http_version == version_choice::http_2; }
    /// Returns true if a connection to one origin may carry requests to another: not with options
    /// that are specific to an origin (RFC 9113 section 9.1.1).
    bool may_coalesce() const noexcept;
    /// Returns the TLS context. The first call creates it and reads the authorities that the system
    /// trusts; fails as `tls::client_context` does.
    std::expected<tls::client_context*, error> tls() const;
    /// Options of connecting for any host, without a proxy and without timeouts.
    const connect::options& connecting() const noexcept { return connecting_; }
    const client_options& options() const noexcept { return options_; }

private:
    transport() = default;

    /// Adds credentials and the TLS context to a proxy.
    std::expected<std::shared_ptr<const connect::proxy>, error> introduce(connect::proxy p) const;
    std::expected<std::shared_ptr<tls::client_context>, error> tls_to_proxy() const;
    std::shared_ptr<connect::proxy_authenticator> login_for(const connect::proxy& p) const;

    client_options options_;
    std::vector<std::string> protocols_;
    std::optional<error> unfit_context_;  ///< why the caller's TLS context is of no use
    bool offers_http_2_ = true;
    connect::options connecting_;
    std::shared_ptr<const connect::proxy> proxy_;
    const connect::proxy_environment* environment_ = nullptr;  ///< of the client; null: not used
    mutable std::mutex tls_guard_;
    mutable std::unique_ptr<tls::client_context> tls_;
    mutable std::shared_ptr<tls::client_context> proxy_tls_;
    /// Keys are the names of the proxies; the environment may have several.
    mutable std::map<std::string, std::shared_ptr<connect::proxy_authenticator>> logins_;
};

/// Options with the transport made from them.
struct prepared_options {
    client_options values;
    std::shared_ptr<const transport> made;
    bool http_is_safe = false;     ///< `safe_protocols` contains it
    bool https_is_safe = false;    ///< `safe_protocols` contains it
    std::optional<error> problem;  ///< the reason for which no call can be made
};

}  // namespace coracle::http::detail
