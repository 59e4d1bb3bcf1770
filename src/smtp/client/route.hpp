#pragma once

#include <coracle/base/url.hpp>
#include <coracle/connect/connect.hpp>
#include <coracle/connect/proxy_environment.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/tls/context.hpp>

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace coracle::smtp::detail {

enum class protocol : std::uint8_t { smtp, smtps, lmtp, mx };

/// Where mail goes, of a URL. Of "mx:" the port alone counts.
struct server_address {
    protocol kind = protocol::smtp;
    std::string host = {};
    std::uint16_t port = 0;
    /// The name is a whole one, as MX records have them: no search domains (RFC 5321 section
    /// 2.3.5).
    bool is_absolute = false;
    std::string user = {};
    secret password = {};

    static std::expected<server_address, error> parse(std::string_view text);
};

/// How connections to the server are made: which of them may stand in for each other. Immutable,
/// and shared by all threads.
class route {
    /// Certificates, read when they are first needed.
    struct shared_tls {
        std::mutex guard;
        std::unique_ptr<tls::client_context> context;
    };

public:
    /// Fails as `tls::client_context` and `connect::proxy::parse` do. `sibling`: a route to another
    /// host, with the same options, whose certificates it shares; or null.
    static std::expected<std::shared_ptr<const route>, error> make(
        const server_address& to, const client_options& o,
        const connect::proxy_environment& environment, const route* sibling);

    /// Returns whether connections made with `a` may be used for `b`.
    static bool same(const client_options& a, const client_options& b) noexcept;

    const server_address& to() const noexcept { return to_; }
    /// Those that connections are made with, with the URL's credentials where they have none.
    const client_options& options() const noexcept { return options_; }
    const connect::options& connecting() const noexcept { return connecting_; }
    bool has_certificate() const;
    /// Made when it is first asked for, which reads the authorities that the system trusts.
    std::expected<tls::client_context*, error> tls() const;

private:
    route() = default;
    std::expected<void, error> find_proxy(const connect::proxy_environment& environment);

    server_address to_;
    client_options options_;
    connect::options connecting_;
    std::shared_ptr<shared_tls> tls_;
};

}  // namespace coracle::smtp::detail
