#pragma once

#include <coracle/http/handler.hpp>
#include <coracle/net/network.hpp>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// One element of a Forwarded field (RFC 7239 section 4): what one proxy said. Empty where it said
/// nothing.
struct forwarded_element {
    std::string for_node;  ///< who made the request to the proxy: see `parse_forwarded_node`
    std::string by_node;
    std::string host;  ///< the Host field as the proxy received it
    std::string proto;
};

/// Reads one Forwarded field line, from the first proxy to the last; nothing when it is malformed,
/// has an element with one parameter twice, or more than `most_forwarded_elements`.
std::optional<std::vector<forwarded_element>> parse_forwarded(std::string_view line);
inline constexpr std::size_t most_forwarded_elements = 100;

/// The address of a node (RFC 7239 section 6): "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:80".
/// Takes IPv6 without brackets too, as X-Forwarded-For has it. Nothing for "unknown", for names
/// that hide it ("_proxy3"), and for anything else.
std::optional<net::address> parse_forwarded_node(std::string_view text) noexcept;

/// The client of a request as trusted proxies describe it: `req.data<client_info>()`.
struct client_info {
    net::address address;  ///< of the client; port 0 where it is not known
    std::string_view
        scheme;        ///< by which the client came: "http", "https", or empty when not given
    std::string host;  ///< the Host that the client requested; empty when not given
    /// The last proxy does not tell the address: `address` is its own.
    bool hidden = false;
    unsigned proxies = 0;  ///< how many trusted ones were passed, the peer included
};

/// The fields that the proxies write. A proxy passes on fields that it does not know, so believing
/// a field that ours do not write is believing the client.
enum class forwarding_fields : std::uint8_t {
    x_forwarded,  ///< X-Forwarded-For and X-Forwarded-Proto, as most write
    forwarded,    ///< Forwarded (RFC 7239)
};

struct proxy_trust {
    forwarding_fields fields = forwarding_fields::x_forwarded;
    /// Believes X-Forwarded-Host too: many proxies do not write it. Default: no.
    bool forwarded_host = false;
};

/// Middleware that finds out the client behind proxies of these networks ("10.0.0.0/8", "::1",
/// "unix:"). From the peer it goes back from proxy to proxy as long as each is trusted; the first
/// that is not is the client. The text left of it, which the client could have written, is ignored.
/// The outcome is `req.client()` and `req.data<client_info>()`; when the peer itself is not trusted
/// there is none, and `req.client()` is the peer.
///
/// A field that it has to rely on and that is malformed gives a 400: taking the proxy for the
/// client would give a stranger the rights of the proxy. Throws `exception` (invalid_argument) on a
/// malformed network.
class trust_proxies {
public:
    trust_proxies(std::initializer_list<std::string_view> networks, proxy_trust how = {});
    trust_proxies(std::vector<net::network> networks, proxy_trust how = {})
        : networks_(std::move(networks)), how_(how) {}

    handler operator()(handler inner) const;

private:
    std::vector<net::network> networks_;
    proxy_trust how_;
};

/// The scheme and the host by which the client came: from `client_info` where a proxy said so, else
/// `req.scheme()` and `req.host()`.
std::string_view client_scheme(const request& req) noexcept;
std::string_view client_host(const request& req) noexcept;

}  // namespace coracle::http
