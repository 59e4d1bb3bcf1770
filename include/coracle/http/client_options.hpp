#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace coracle::http {

class cookie_jar;

/// What a 3xx answer with a Location does (RFC 9110 section 15.4). The numbers are curlev's.
enum class follow : std::uint8_t {
    none,         ///< it is given as it is
    same_method,  ///< followed, with the same method and body whatever the status
    standard,     ///< followed as the status says: 303 becomes GET, and so do 301 and 302 of a POST
    first_only,   ///< followed with GET: the method is that of the first request only
};

enum class auth_scheme : std::uint8_t { none, basic, digest, bearer };

struct credentials {
    auth_scheme scheme = auth_scheme::none;
    std::string user = {};
    secret password = {};  ///< or the token
};

/// Who we are towards a TLS server, and whom we trust: paths, as curl has them.
struct certificate_options {
    std::string certificate = {};       ///< sslcert
    std::string certificate_type = {};  ///< sslcerttype: PEM, DER, P12; empty: as the file tells
    std::string key = {};               ///< sslkey
    std::string key_type = {};          ///< sslkeytype: PEM, DER, ENG, PROV
    secret key_password = {};           ///< keypasswd
    std::string authorities = {};       ///< cainfo: a PEM file, in place of the system's
    std::string authority_folder =
        {};  ///< capath: a folder of hashed names, in place of the system's
};

/// When a request that failed is sent again. It is only where that is safe: nothing of it was sent,
/// or the server said that it did nothing (429 and 503), or the method is idempotent.
struct retry_options {
    /// How often at most, besides the first attempt. Default 0.
    unsigned retries = 0;
    /// Before the first retry; doubled for each further one, with a random part taken off.
    /// Default 100 ms.
    duration delay = std::chrono::milliseconds(100);
    /// The longest. A Retry-After beyond it ends the matter. Default 20 s.
    duration longest_delay = std::chrono::seconds(20);
    /// One attempt may take so long; zero: only the whole is limited. Default 0.
    duration attempt_timeout{};
    /// Retries in all of the requests of a client, in percent, so that a server that is down is not
    /// drowned; ten are always allowed. Default 20.
    unsigned budget_percent = 20;
    /// POST and PATCH too, once bytes were sent. Default no.
    bool not_idempotent = false;
    /// If no answer has begun by then, a second copy of an idempotent request is sent on another
    /// connection, and the first answer wins: a copy that fails leaves it to the other. Zero:
    /// never. Default 0.
    duration hedge_after{};
};

/// What a client does, and what one request does: the same struct, for a request begins with that
/// of its client. It can be filled in code, and from text by `read_options`. A regular value type.
struct client_options {
    // How long each part may take; zero: for ever. `total` counts from the start of the call, with
    // redirects and retries, to the end of the body.
    duration resolve_timeout{};                              ///< names
    duration connect_timeout = std::chrono::seconds(30);     ///< names, TCP, proxy and TLS
    duration tls_timeout = std::chrono::seconds(10);         ///< the handshake
    duration first_byte_timeout = std::chrono::seconds(60);  ///< from the sent request to the head
    duration idle_timeout = std::chrono::seconds(60);        ///< between two pieces, either way
    duration total_timeout{};
    /// Fewer bytes a second than this, over `low_speed_time`, end it; 0: off.
    std::uint64_t low_speed_limit = 0;
    duration low_speed_time = std::chrono::seconds(30);

    /// What `text`, `bytes` and `json` take, in bytes. Default 16 MiB.
    std::size_t body_limit = 16 * 1024 * 1024;
    /// What any answer may have, decoded, also one that is read in pieces or saved to a file; 0: no
    /// limit. Default 64 GiB.
    std::uint64_t response_limit = std::uint64_t{64} << 30;
    /// The largest block that a body is received into, in bytes: while what comes fills its blocks,
    /// they grow from 16 KiB to this, 256 KiB at most; at 256 KiB it then waits for whole blocks, a
    /// millisecond at most. An answer that nobody reads on may hold one. Default 256 KiB.
    std::uint64_t receive_block = 256 * 1024;
    /// Of an answer's head, in bytes. Default 64 KiB.
    std::uint32_t head_limit = 64 * 1024;
    /// Interim answers (1xx) before the final one. Default 16.
    unsigned interim_limit = 16;
    /// Bytes a second, in each direction; 0: as fast as can be.
    std::uint64_t rate_limit = 0;

    http::follow follow = http::follow::none;
    unsigned redirects = 5;
    /// Schemes that URLs and redirects may have.
    std::string safe_protocols = "http,https";

    /// Asks for gzip, deflate, brotli and zstd, and decodes them; `answer_info::decoded` says which
    /// ones it was, and the fields of the answer no longer do.
    bool accept_compression = true;
    /// How much larger than what was received the decoded body may get. Default 1,000.
    unsigned compression_ratio = 1000;
    /// Receives and sends cookies: in a jar of the client's own, unless it is given one.
    bool cookies = false;

    credentials authentication = {};
    /// Looks for the host in ~/.netrc (or $NETRC) when there are no other credentials.
    bool netrc = false;

    /// http://, https://, socks4://, socks4a://, socks5:// (names resolved here) or socks5h:// (by
    /// the proxy), with user and password.
    secret proxy = {};
    /// Hosts that are reached without it: "localhost,.example.com,10.0.0.0/8", "*" for all.
    std::string no_proxy = {};
    /// Takes http_proxy, https_proxy, all_proxy and no_proxy where `proxy` is empty. Default yes.
    bool proxy_from_environment = true;
    /// Sent to the proxy with the first request as Basic or Bearer, or as Digest once it asks; a
    /// proxy of SOCKS is given user and password, and nothing else.
    credentials proxy_authentication = {};

    /// Takes any certificate for any name, of origins; an https proxy is verified all the same.
    bool insecure = false;
    /// An OpenSSL provider that keys are in (curlev: engine).
    std::string engine = {};
    certificate_options certificates = {};
    certificate_options proxy_certificates = {};

    /// Path of a Unix socket that is connected to whatever the host is; "@name" for an abstract
    /// one.
    std::string unix_socket = {};
    /// "host:port:address[,address...]": in place of what resolvers say.
    std::vector<std::string> resolve = {};
    /// Local address of our sockets, or the name of an interface.
    std::string interface_name = {};
    /// Only one family of addresses; none: both.
    net::family family = net::family::none;

    /// Asks before it sends a body ("Expect: 100-continue") that is larger than this; 0: never.
    std::uint64_t expect_continue_above = 0;
    std::string user_agent = "coracle";
    /// Logs connections and the heads of what is sent and received, secrets masked, at level info.
    bool verbose = false;

    retry_options retry = {};
};

/// What the connections of a client have in common; of one client, not of one request.
struct pool_options {
    /// Per loop and origin, open at a time. Default 100.
    unsigned connections_per_host = 100;
    /// Per loop, open at a time; idle ones of other origins are closed to make room, those that
    /// have waited longest first. Default 1,000.
    unsigned connections = 1000;
    /// An idle connection is closed after this. Default 90 s.
    duration idle_time = std::chrono::seconds(90);
    /// No request is begun on a connection that is older; zero: no limit.
    duration lifetime{};
    /// Requests that wait for a connection, per loop, first come, first served, but for those whose
    /// origin has all that it may have; beyond it they fail with `errc::limit_exceeded`.
    /// Default 100,000.
    std::size_t waiting = 100'000;
    /// TLS handshakes under way at a time with an origin that is near: TCP connects within 2 ms.
    /// There the processors take the time rather than the network, so that more at once would
    /// hardly end sooner, and those that come later can take up a session of those before. One
    /// waits for its turn for at most 50 ms, and for none where the server itself takes that long.
    /// Per loop. Default 8; 0: no limit.
    unsigned handshakes = 8;
};

}  // namespace coracle::http
