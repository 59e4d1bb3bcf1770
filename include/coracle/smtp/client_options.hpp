#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/connect/client_options.hpp>
#include <coracle/net/address.hpp>
#include <coracle/net/resolver.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace coracle::tls {
class client_context;
}

namespace coracle::smtp {

/// Policy for TLS on a connection that begins in clear (RFC 3207).
enum class starttls : std::uint8_t {
    off,
    wanted,    ///< where the server offers it: whoever sits in between can hide the offer
    required,  ///< or nothing is sent
};

/// The credentials that a login uses.
enum class login_mode : std::uint8_t {
    any,     ///< those that are given
    none,    ///< none of them: no login
    basic,   ///< user and password
    bearer,  ///< a token: `credentials::token`, or else `credentials::password`
};

/// The login at a server (RFC 4954).
struct credentials {
    std::string user = {};
    secret password = {};
    /// A token of OAuth 2.0 (RFC 6750), in place of a password.
    secret token = {};
    /// Only these mechanisms, with commas or blanks between them: "SCRAM-SHA-256,PLAIN". Default:
    /// all that are known, best first: EXTERNAL (only where it is named here, with a certificate),
    /// OAUTHBEARER and XOAUTH2 with a token, SCRAM-SHA-256-PLUS, SCRAM-SHA-256, CRAM-MD5, PLAIN,
    /// LOGIN with a password.
    std::string mechanisms = {};
    /// PLAIN, LOGIN and tokens without TLS too: whoever listens has the password then. Default no.
    bool in_clear = false;
    /// Default `any`.
    login_mode mode = login_mode::any;

    friend bool operator==(const credentials&, const credentials&) = default;
};

/// Which reports about its delivery a mail asks for (RFC 3461), of servers that offer DSN.
struct delivery_reports {
    bool on_success = false;
    bool on_failure = false;
    bool on_delay = false;
    bool never = false;  ///< not even of failures; goes before the others
    /// With the whole mail in it; else its header. Only with one of those above.
    bool with_content = false;
    /// Name of the mail in the reports: up to 100 printable ASCII characters.
    std::string envelope_id = {};

    bool any() const noexcept {
        return on_success || on_failure || on_delay || never || !envelope_id.empty();
    }
};

/// When a mail that was not accepted is sent again: only where it was certainly not accepted and
/// may be later, which is what `error::safe_to_retry` says.
struct retry_options {
    /// How often at most, besides the first attempt. Default 0.
    unsigned retries = 0;
    /// Before the first retry; doubled for each further one. At least 1 ms. Default 1 s.
    duration delay = std::chrono::seconds(1);
    /// The longest delay. Default 1 min.
    duration longest_delay = std::chrono::minutes(1);
};

/// Options of a client, and of one mail: the same struct, for a mail begins with that of
/// its client. It can be filled in code, and from text by `read_options`. A regular value type.
struct client_options {
    // How long each part may take; zero: for ever. Those of RFC 5321 section 4.5.3.2, or shorter.
    duration resolve_timeout{};                           ///< names
    duration connect_timeout = std::chrono::seconds(30);  ///< names, TCP, proxy and TLS
    duration tls_timeout = std::chrono::seconds(10);      ///< a handshake
    duration greeting_timeout = std::chrono::minutes(5);  ///< the first reply
    duration reply_timeout = std::chrono::minutes(5);     ///< to a command
    duration idle_timeout = std::chrono::minutes(3);      ///< to hand a block of the mail over
    duration accept_timeout = std::chrono::minutes(10);   ///< the reply behind the mail's end
    duration total_timeout{};                             ///< all of it, with retries

    /// Default `wanted`. smtps:// begins with TLS whatever this says.
    smtp::starttls starttls = smtp::starttls::wanted;
    /// Our name in EHLO. Default: the address of our end, as "[192.0.2.1]".
    std::string hello = {};
    credentials authentication = {};
    /// Sends to those recipients that were accepted when others were not. Default: all or none.
    bool rcpt_allow_fails = false;
    /// Hosts of a domain that a client of "mx:" tries, one after the other. Default 10.
    unsigned mx_hosts = 10;
    /// Domains of one mail that a client of "mx:" delivers to at a time. Default 10.
    unsigned mx_domains = 10;
    delivery_reports reports = {};
    /// Every server on the way uses TLS, or the mail comes back (RFC 8689). Fails where the first
    /// one does not offer that, or its certificate is not verified. Default no.
    bool require_tls = false;

    /// Commands are sent without waiting for each reply, those of a mail that waits for a
    /// connection with the end of the mail before (RFC 2920), where the server offers it. Default
    /// yes.
    bool pipelining = true;
    /// The mail is sent with BDAT (RFC 3030), where the server offers it. Default yes.
    bool chunking = true;

    /// Bytes of a line of a reply. Default 2,048.
    std::uint32_t reply_line_limit = 2048;
    /// Lines of a reply. Default 128.
    std::uint32_t reply_lines_limit = 128;

    /// http://, https://, socks4://, socks4a://, socks5:// or socks5h://, with user and password.
    secret proxy = {};
    /// Hosts that are reached without it: "localhost,.example.com,10.0.0.0/8", "*" for all.
    std::string no_proxy = {};
    /// Takes all_proxy and no_proxy where `proxy` is empty. Default yes.
    bool proxy_from_environment = true;

    /// Takes any certificate for any name. Default no.
    bool insecure = false;
    connect::client_tls_options tls = {};
    /// In place of one that is made of `tls`, `insecure`, `engine` and `certificates`. Not in
    /// texts. Default null.
    std::shared_ptr<coracle::tls::client_context> tls_context = {};
    /// An OpenSSL provider that keys are in (curlev: engine).
    std::string engine = {};
    connect::certificate_options certificates = {};
    connect::certificate_options proxy_certificates = {};

    /// Path of a Unix socket that is connected to whatever the host is; "@name" for an abstract
    /// one.
    std::string unix_socket = {};
    /// "host:port:address[,address...]": in place of what resolvers say.
    std::vector<std::string> resolve = {};
    connect::client_socket_options sockets = {};
    /// Local address of our sockets, or the name of an interface.
    std::string interface_name = {};
    /// Only one family of addresses; none: both.
    net::family family = net::family::none;

    /// Logs the dialogue, secrets masked, at level info.
    bool verbose = false;

    retry_options retry = {};
};

/// Options of the connections of a client; not of one mail.
struct pool_options {
    /// Open at a time, per loop and server. Default 10.
    unsigned connections = 10;
    /// An idle connection is closed, with QUIT, after this. Default 60 s.
    duration idle_time = std::chrono::seconds(60);
    /// Mails over one connection; 0: no limit. Default 100.
    unsigned messages = 100;
    /// Mails that wait for a connection, per loop; beyond it they fail with
    /// `errc::limit_exceeded`. Default 100,000.
    std::size_t waiting = 100'000;
    /// How names are resolved; each loop has a resolver of its own.
    net::resolver_options resolver = {};
};

}  // namespace coracle::smtp
