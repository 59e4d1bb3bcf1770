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

/// How connections are made: which of them may stand in for each other. Made of the options that
/// have a say in it; immutable, and shared by all threads.
class transport {
public:
    /// Reads certificates where it needs them. Fails as `tls::client_context` and
    /// `connect::proxy::parse` do.
    static std::expected<std::shared_ptr<const transport>, error> make(
        const client_options& o, const connect::proxy_environment& environment);

    /// Whether connections made with `a` may be used for `b`.
    static bool same(const client_options& a, const client_options& b) noexcept;

    /// The proxy for this host; null: none.
    std::expected<std::shared_ptr<const connect::proxy>, error> proxy_for(std::string_view scheme,
                                                                          std::string_view host,
                                                                          std::uint16_t port) const;
    /// Made when it is first asked for, which reads the authorities that the system trusts; fails
    /// as `tls::client_context` does.
    std::expected<tls::client_context*, error> tls() const;
    /// For any host, without a proxy and without limits.
    const connect::options& connecting() const noexcept { return connecting_; }
    const client_options& options() const noexcept { return options_; }

private:
    transport() = default;

    /// The proxy as it is to be spoken to: who we are, and whom we trust.
    std::expected<std::shared_ptr<const connect::proxy>, error> introduce(connect::proxy p) const;
    std::expected<std::shared_ptr<tls::client_context>, error> tls_to_proxy() const;
    std::shared_ptr<connect::proxy_authenticator> login_for(const connect::proxy& p) const;

    client_options options_;
    connect::options connecting_;
    std::shared_ptr<const connect::proxy> proxy_;
    const connect::proxy_environment* environment_ = nullptr;  ///< the client's; null: not asked
    mutable std::mutex tls_guard_;
    mutable std::unique_ptr<tls::client_context> tls_;
    mutable std::shared_ptr<tls::client_context> proxy_tls_;
    /// By the names of the proxies; the environment may have several.
    mutable std::map<std::string, std::shared_ptr<connect::proxy_authenticator>> logins_;
};

/// Options with the transport that they come to.
struct prepared_options {
    client_options values;
    std::shared_ptr<const transport> way;
    bool http_is_safe = false;     ///< stands in `safe_protocols`
    bool https_is_safe = false;    ///< likewise
    std::optional<error> problem;  ///< why no call can be made
};

}  // namespace coracle::http::detail
