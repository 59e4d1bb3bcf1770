#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tls {
class client_context;
}

namespace coracle::connect {

enum class proxy_kind : std::uint8_t {
    http,     ///< CONNECT (RFC 9110 section 9.3.6)
    https,    ///< the same, over TLS
    socks4,   ///< IPv4 only; names are resolved here
    socks4a,  ///< names are resolved by the proxy
    socks5,   ///< RFC 1928; names are resolved here
    socks5h,  ///< the same; names are resolved by the proxy
};

std::string_view to_string(proxy_kind k) noexcept;

/// The reasons why a proxy gives no connection. Those that POSIX has a number for compare equal to
/// it (`connection_refused` to `std::errc::connection_refused`, and so on). A proxy that does not
/// speak its protocol is `coracle::errc::protocol_error`.
enum class proxy_errc {
    refused = 1,            ///< a status other than 2xx; the error's subject has it
    credentials_wanted,     ///< 407 or 401, or no method without a password
    credentials_refused,    ///< what we gave does not open the door
    general_failure,        ///< SOCKS5 reply 1, SOCKS4 reply 91
    not_allowed,            ///< SOCKS5 reply 2
    network_unreachable,    ///< SOCKS5 reply 3
    host_unreachable,       ///< SOCKS5 reply 4
    connection_refused,     ///< SOCKS5 reply 5
    ttl_expired,            ///< SOCKS5 reply 6
    command_not_supported,  ///< SOCKS5 reply 7
    address_not_supported,  ///< SOCKS5 reply 8, or IPv6 by SOCKS4
    identd_unreachable,     ///< SOCKS4 reply 92
    identd_mismatch,        ///< SOCKS4 reply 93
};

const std::error_category& proxy_category() noexcept;
std::error_code make_error_code(proxy_errc e) noexcept;

/// Responds to the challenges of an HTTP proxy (RFC 9110 section 11), where more than a user and a
/// password is needed. One for each proxy; thread-safe, and used on loops.
class proxy_authenticator {
public:
    virtual ~proxy_authenticator() = default;
    /// The value of Proxy-Authorization for this request; empty: there is nothing to say yet.
    virtual std::expected<secret, error> authorize(std::string_view method,
                                                   std::string_view target) = 0;
    /// Takes the values of Proxy-Authenticate that came with a 407. Returns true when the same
    /// request should be sent once more; `repeats` is the number of times that was done for it.
    virtual bool challenged(const std::vector<std::string>& challenges, unsigned repeats) = 0;
};

/// A proxy, which passes connections on to their target: its address, its protocol and our
/// credentials. A regular value type.
class proxy {
public:
    static constexpr std::uint16_t default_port = 1080;
    static constexpr std::uint16_t default_https_port = 443;
    /// The most bytes in the heads of its responses to CONNECT, all together.
    static constexpr std::size_t most_head_bytes = 32 * 1024;
    static constexpr std::size_t most_head_lines = 128;
    /// The most 1xx responses before the final one.
    static constexpr unsigned most_interim = 8;

    /// `host` without brackets.
    proxy(proxy_kind kind, std::string host, std::uint16_t port);

    /// Reads "http://user:password@host:3128", "socks5h://[::1]:1080", "host:8080" (http). User and
    /// password are percent-decoded; "/", "?" and "#" in them have to be encoded. A path is
    /// ignored, but must hold no "@". The default port is that of curl: 1080 for every kind but
    /// https, which has 443. Fails with invalid_argument, operation "proxy"; the error's subject
    /// says what is wrong and never holds a part of the URL, of which any may be the password.
    static std::expected<proxy, error> parse(std::string_view url);

    /// Name and password: Basic towards HTTP proxies (RFC 7617), user/password towards SOCKS5 (RFC
    /// 1929); SOCKS4 takes the name only.
    proxy& credentials(std::string user, secret password);
    /// Used in place of name and password, with proxies that speak HTTP.
    proxy& authenticator(std::shared_ptr<proxy_authenticator> a) noexcept;
    /// The context for the connection to a proxy of kind https; null: a shared one with the
    /// defaults. Ignored for other kinds.
    proxy& tls(std::shared_ptr<tls::client_context> context) noexcept;

    proxy_kind kind() const noexcept { return kind_; }
    /// Returns true if the proxy speaks HTTP.
    bool is_http() const noexcept {
        return kind_ == proxy_kind::http || kind_ == proxy_kind::https;
    }
    const std::string& host() const noexcept { return host_; }
    std::uint16_t port() const noexcept { return port_; }
    bool has_credentials() const noexcept { return has_credentials_; }
    const std::string& user() const noexcept { return user_; }
    const secret& password() const noexcept { return password_; }
    const std::shared_ptr<proxy_authenticator>& authenticator() const noexcept {
        return authenticator_;
    }
    const std::shared_ptr<tls::client_context>& tls() const noexcept { return tls_; }

    /// The value of Proxy-Authorization: "Basic ..."; empty without credentials.
    secret basic_authorization() const;
    /// "socks5h://host:1080", without user and password.
    std::string to_string() const;

    /// Connections through equal proxies can stand in for each other.
    friend bool operator==(const proxy& a, const proxy& b) noexcept = default;

private:
    proxy_kind kind_;
    bool has_credentials_ = false;
    std::uint16_t port_;
    std::string host_;
    std::string user_;
    secret password_;
    std::shared_ptr<proxy_authenticator> authenticator_;
    std::shared_ptr<tls::client_context> tls_;
};

}  // namespace coracle::connect

template <>
struct std::is_error_code_enum<coracle::connect::proxy_errc> : std::true_type {};
