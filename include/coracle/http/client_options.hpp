#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/connect/client_options.hpp>
#include <coracle/http/h2_limits.hpp>
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

namespace coracle::http {

class cookie_jar;

/// How a client treats a 3xx response with a Location (RFC 9110 section 15.4). The numbers are
/// those of curlev.
enum class follow : std::uint8_t {
    none,         ///< returned to the caller as it is
    same_method,  ///< followed, with the same method and body whatever the status
    standard,     ///< followed as the status says: 303 becomes GET, and so do 301 and 302 of a POST
    first_only,   ///< followed with GET: the method is that of the first request only
};

/// The versions of HTTP that a client may use.
enum class version_choice : std::uint8_t {
    /// With TLS what ALPN agrees on, HTTP/2 or HTTP/1.1; without, HTTP/1.1.
    automatic,
    /// HTTP/1.1 only (curl: --http1.1).
    http_1_1,
    /// HTTP/2 only, without TLS too (curl: --http2-prior-knowledge; RFC 9113 section 3.3). Requests
    /// through a proxy that forwards them are HTTP/1.1 all the same.
    http_2,
};

enum class auth_scheme : std::uint8_t { none, basic, digest, bearer };

struct credentials {
    auth_scheme scheme = auth_scheme::none;
    std::string user = {};
    secret password = {};  ///< or the token
};

using connect::certificate_options;
using connect::client_socket_options;
using connect::client_tls_options;

/// Retries of a failed request. A request is retried only where that is safe: nothing of it was
/// sent, or the server asked for it (429, and 503 with Retry-After), or the method is idempotent:
/// then after a failure, and after 408, 502, 503 and 504.
struct retry_options {
    /// The most retries, besides the first attempt. Default 0.
    unsigned retries = 0;
    /// The delay before the first retry. Default 100 ms.
    duration delay = std::chrono::milliseconds(100);
    /// Doubles the delay for each further retry and subtracts a random part of it, so that clients
    /// do not retry all at once; when false, each retry comes after `delay`. Default true.
    bool backoff = true;
    /// The longest delay; with a longer Retry-After there is no retry. Default 20 s.
    duration longest_delay = std::chrono::seconds(20);
    /// The longest time of one attempt; zero: only the whole call is limited. Default 0.
    duration attempt_timeout{};
    /// The retry budget: retries as a share of all requests of a client on a loop, in percent, so
    /// that retries do not flood a server in trouble. It is a bucket of ten retries, full at first,
    /// that each call refills by this share. A retry that the budget forbids is counted in
    /// `client_statistics::retries_held_back`, and the error says so. 0: no budget, as with
    /// `call::retry`. Default 20.
    unsigned budget_percent = 20;
    /// Retries POST and PATCH as if they were idempotent. Default false.
    bool not_idempotent = false;
    /// If no response has begun after this time, a second copy of a GET, HEAD or OPTIONS is sent on
    /// another connection, where the pool has room for one, and the first response is used; when
    /// one copy fails, the other decides.
    /// A call with `on_interim`, `on_earlier` or `upgrade` is sent once. Zero: never. Default 0.
    duration hedge_after{};
};

/// The options of a client and of one call: a call begins with a copy of its client's options. Can
/// be filled in code, or from text by `read_options`. A regular value type.
struct client_options {
    // The timeouts of the parts of a call; zero: none. `total_timeout` runs from the start of the
    // call, including redirects and retries, to the end of the body.
    duration resolve_timeout{};                              ///< name resolution
    duration connect_timeout = std::chrono::seconds(30);     ///< resolution, TCP, proxy and TLS
    duration tls_timeout = std::chrono::seconds(10);         ///< the handshake
    duration first_byte_timeout = std::chrono::seconds(60);  ///< from the sent request to the head
    /// While nothing is received, and the system takes nothing of what is sent.
    duration idle_timeout = std::chrono::seconds(60);
    duration total_timeout{};
    /// The call fails when it moves fewer bytes a second than this during `low_speed_time`; 0: off.
    std::uint64_t low_speed_limit = 0;
    duration low_speed_time = std::chrono::seconds(30);

    /// The largest body that `text`, `bytes` and `json` read, in bytes. Default 16 MiB.
    std::size_t body_limit = 16 * 1024 * 1024;
    /// The largest body of any response, decoded, also of one that is read in pieces or saved to a
    /// file; 0: no limit. Default 64 GiB.
    std::uint64_t response_limit = std::uint64_t{64} << 30;
    /// The largest block that a body is received into, in bytes. Blocks grow from 16 KiB to this,
    /// at most 256 KiB, while the received bytes fill them; at 256 KiB the client waits for whole
    /// blocks, at most a millisecond. A response whose body is not read on may hold one block.
    /// Default 256 KiB.
    std::uint64_t receive_block = 256 * 1024;
    /// The largest head of a response, in bytes. Default 64 KiB.
    std::uint32_t head_limit = 64 * 1024;
    /// The most fields of a response's head. Default 100.
    std::uint32_t field_limit = 100;
    /// The most interim responses (1xx) before the final one. Default 16.
    unsigned interim_limit = 16;
    /// The most bytes a second, in each direction; 0: no limit.
    std::uint64_t rate_limit = 0;

    /// Default: ALPN decides. Requests that HTTP/2 cannot express (`client::connect`, Upgrade) use
    /// HTTP/1.1.
    version_choice http_version = version_choice::automatic;

    http::follow follow = http::follow::none;
    unsigned redirects = 5;
    /// Schemes that URLs and redirects may have.
    std::string safe_protocols = "http,https";

    /// Accepts responses of HTTP/1 that break RFC 9112 in the way of old servers and devices: lines
    /// that end in LF alone, blanks before the colon of a field and behind the size of a chunk, and
    /// "Transfer-Encoding: identity". docs/client.md has what each risks. Default false.
    bool lenient = false;

    /// Sends path and query of a URL as they were given (`url_path::as_is`): dot segments stay too,
    /// and what a URL may not hold but a request can carry, such as "|". Does not apply to the
    /// targets of redirects. Default false.
    bool path_as_is = false;

    /// Accepts gzip, deflate, brotli and zstd, and decodes them. `response_info::decoded` has the
    /// codings; Content-Encoding is removed from the fields. Default true.
    bool accept_compression = true;
    /// The most bytes of decoded body for each byte received; 0: no limit of this kind. Default
    /// 1,000.
    unsigned compression_ratio = 1000;
    /// Receives and sends cookies, in a jar of the client's own unless `client::share_cookies` sets
    /// one. A Cookie field of the call itself is sent after them. Default false.
    bool cookies = false;

    credentials authentication = {};
    /// Looks up the host in ~/.netrc (or $NETRC) when there are no other credentials. Default
    /// false.
    bool netrc = false;

    /// http://, https://, socks4://, socks4a://, socks5:// (names resolved here) or socks5h:// (by
    /// the proxy), with user and password.
    secret proxy = {};
    /// Hosts that are reached without the proxy: "localhost,.example.com,10.0.0.0/8", "*" for all.
    std::string no_proxy = {};
    /// Reads the environment variables http_proxy, https_proxy, all_proxy and no_proxy when `proxy`
    /// is empty. Default true.
    bool proxy_from_environment = true;
    /// Credentials for the proxy: Basic and Bearer are sent with the first request, Digest when the
    /// proxy requests it; a SOCKS proxy gets user and password only.
    credentials proxy_authentication = {};

    /// Accepts any certificate of an origin for any name; an https proxy is verified all the same.
    bool insecure = false;
    client_tls_options tls = {};
    /// A TLS context for connections to origins, in place of one made from `tls`, `insecure`,
    /// `engine` and `certificates`. It shares authorities and sessions with its other users, and
    /// has options of its own. Where it has protocols of ALPN ("h2", "http/1.1"), those of
    /// `http_version` that it lacks are not offered. Cannot be set from text. Default null.
    std::shared_ptr<coracle::tls::client_context> tls_context = {};
    /// The OpenSSL provider that holds the keys (curlev: engine).
    std::string engine = {};
    certificate_options certificates = {};
    certificate_options proxy_certificates = {};

    /// Path of a Unix socket to connect to, whatever the host of the URL; "@name" for an abstract
    /// one.
    std::string unix_socket = {};
    /// "host:port:address[,address...]": addresses that replace name resolution.
    std::vector<std::string> resolve = {};
    client_socket_options sockets = {};
    /// Local address of our sockets, or the name of an interface.
    std::string interface_name = {};
    /// Uses addresses of one family only; none: both.
    net::family family = net::family::none;

    /// Sends "Expect: 100-continue" and waits for a second at most, before a body larger than this,
    /// in bytes; 0: only before one that can be sent once, and needs a challenge of Digest.
    std::uint64_t expect_continue_above = 0;
    std::string user_agent = "coracle";
    /// Logs connections, and the heads of requests and responses with secrets masked, at level
    /// info.
    bool verbose = false;

    retry_options retry = {};
};

/// Options of a client's HTTP/2 connections.
struct client_h2_options {
    /// Sends a PING when nothing was received for this time while requests are under way, to find
    /// out if the server is still there. Zero: never. Default 0.
    duration ping_after{};
    /// Sends such PINGs also while no request is under way, so that firewalls and NAT keep the
    /// connection. Default false.
    bool ping_idle = false;
    /// When nothing is received for this time after the PING, the connection counts as lost, and
    /// its requests fail with `std::errc::timed_out`. Default 15 s.
    duration ping_timeout = std::chrono::seconds(15);
    /// Lets requests to an https origin use a connection to another origin with the same address
    /// and a certificate for both (RFC 9113 section 9.1.1). Never through a proxy, with a client
    /// certificate or a TLS context of our own, with `unix_socket` or `resolve`, or where any
    /// certificate is accepted. Default true.
    bool coalesce = true;
    /// Streams of one connection that are reset because their calls were given up: a burst, and a
    /// rate per second. Then it takes no further call, and another connection is opened for those:
    /// servers end connections that reset too many (CVE-2023-44487), with all calls on them.
    /// Default 50 and 5.
    std::uint32_t resets = 50;
    std::uint32_t resets_per_second = 5;
    /// Limits for servers. Exceeding one ends the stream or the connection, and
    /// `client_statistics::h2` counts it. Heads and interim responses have the limits of
    /// `client_options`. Default: stream windows up to 4 MiB, a connection window of 16 MiB, the
    /// rest as in `h2_limits`.
    h2_limits limits = default_client_h2_limits;
};

/// Options of a client's connections; they hold for the client, not for single calls.
struct pool_options {
    /// The most open connections for each loop and origin. Default 100.
    unsigned connections_per_host = 100;
    /// The most open connections for each loop; idle ones of other origins are closed for new ones,
    /// longest idle first. Default 1,000.
    unsigned connections = 1000;
    /// The most exchanges at a time on one HTTP/2 connection, or fewer when its server says so; for
    /// more, another connection is opened. Default 100.
    unsigned streams = 100;
    /// An idle connection is closed after this. Default 90 s.
    duration idle_time = std::chrono::seconds(90);
    /// No request begins on a connection older than this; zero: no limit. Default 0.
    duration lifetime{};
    /// The most requests that wait for a connection, for each loop; further ones fail with
    /// `errc::limit_exceeded`. First come, first served, except that requests to an origin with all
    /// its connections in use do not hold up others. Default 100,000.
    std::size_t waiting = 100'000;
    /// The most TLS handshakes at a time, for each loop, with an origin that is near: TCP connects
    /// within 2 ms. There handshakes are bound by the processor, not the network, so more at once
    /// hardly end sooner, and later ones can resume a session of earlier ones. A handshake waits at
    /// most 50 ms for others, and not at all where the server itself takes that long. 0: no limit.
    /// Default 8.
    unsigned handshakes = 8;
    /// Options of HTTP/2 connections.
    client_h2_options h2 = {};
    /// Options of name resolution; each loop has its own resolver and cache.
    net::resolver_options resolver = {};
};

}  // namespace coracle::http
