#pragma once

#include <coracle/net/address.hpp>
#include <coracle/runtime/operation.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::net {

/// The reasons why a name has no addresses. `timed_out` compares equal to `std::errc::timed_out`,
/// `malformed_name` to `std::errc::invalid_argument`.
enum class resolve_errc {
    no_such_host = 1,    ///< the name does not exist
    no_addresses,        ///< the name exists, but has no address of the wanted family
    server_failure,      ///< the name server could not resolve it (SERVFAIL and its like)
    refused,             ///< the name server does not serve us
    timed_out,           ///< no name server responded in time
    server_unreachable,  ///< nothing listens where the name server should be
    malformed_name,      ///< this can be no host name
    malformed_response,  ///< the name server's response cannot be read
};

const std::error_category& resolve_category() noexcept;
std::error_code make_error_code(resolve_errc e) noexcept;

/// A host that takes the mail of a domain (RFC 5321 section 5.1).
struct mail_host {
    std::uint16_t preference = 0;  ///< the lowest is tried first
    std::string name = {};         ///< lower case; empty: the domain takes no mail (RFC 7505)

    friend bool operator==(const mail_host&, const mail_host&) = default;
};

struct resolver_options {
    /// Name servers, in the order in which they are queried. Default: those of the system
    /// (`configuration`).
    std::vector<address> servers;
    /// Domains in which names with fewer than `dots` dots are looked for; the first `domains` of
    /// them. Default: those of the system.
    std::vector<std::string> search;
    /// The system's configuration; empty: none. Read again when it has changed. The resolver heeds
    /// `nameserver`, `search`, `domain` and `options ndots`.
    std::string configuration = "/etc/resolv.conf";
    /// Names known without asking; empty: none. Read again when it has changed.
    std::string hosts = "/etc/hosts";
    /// A name with at least so many dots is looked up as it stands first. Default 0: as the system
    /// says, or 1.
    unsigned dots = 0;
    /// The longest wait for the response of one server. Default 2 s.
    duration timeout = std::chrono::seconds(2);
    /// The number of times that all the servers are queried in turn. Default 3.
    unsigned attempts = 3;
    /// The shortest time between two checks of whether the files above have changed. Default 5 s.
    duration recheck = std::chrono::seconds(5);
    /// The most responses in the cache, positive and negative; beyond that, those not used for
    /// longest are dropped. Default 10,000.
    std::size_t cache = 10'000;
    /// The longest time that a response is cached, whatever its TTL. Default 1 h.
    duration longest_ttl = std::chrono::hours(1);
    /// The longest time that the absence of a name is cached. Default 1 min.
    duration longest_negative_ttl = std::chrono::minutes(1);
    /// Questions that are out at a time; others wait for their turn. Default 100.
    std::size_t questions = 100;
    /// The most addresses, or hosts for mail, taken from one response; the others are dropped.
    /// Default 64.
    std::size_t addresses = 64;
    /// Search domains that are tried. Default 8.
    std::size_t domains = 8;
};

/// Counters of a resolver since it was made. `cached` is the number of responses in the cache now.
struct resolver_counters {
    std::uint64_t asked = 0;      ///< lookups of names, of one family or of hosts for mail each
    std::uint64_t hits = 0;       ///< queries served from the cache
    std::uint64_t shared = 0;     ///< lookups that joined one under way
    std::uint64_t questions = 0;  ///< sent to name servers, each attempt counted
    std::uint64_t failures = 0;   ///< queries without a usable response
    std::uint64_t cached = 0;
};

namespace detail {
class resolver_state;
}

/// Finds the addresses of hosts: numeric ones, `localhost` (RFC 6761), the hosts file, then name
/// servers, by UDP, and by TCP where a response is too long. Caches responses for their TTL
/// (negative ones by RFC 2308). Concurrent lookups of one name share one query. The hosts file and
/// the configuration are read with plain reads, on the loop.
///
/// Belongs to one loop, and is destroyed before it. On a backend that resolves names itself, a
/// simulation, only that is queried. Waits that are left when it is destroyed end as cancelled.
class resolver {
public:
    explicit resolver(loop& owner, resolver_options options = {});
    ~resolver();
    resolver(const resolver&) = delete;
    resolver& operator=(const resolver&) = delete;

    /// The addresses of `host` with `port`, those of IPv6 first; at least one. `host` is a name, or
    /// a numeric address with or without brackets, and is copied. With a trailing dot the search
    /// domains are not tried. A name of other than ASCII must have been encoded (RFC 5891) before.
    ///
    /// Queries IPv6 and IPv4 at the same time, and completes when both responses are there; one of
    /// them suffices. Completes at once when everything is known; else it resumes from the loop.
    /// Fails with a `resolve_errc`, phase resolve. Cancelling it ends the wait; the query is given
    /// up unless others wait for it too.
    operation<std::vector<address>> resolve(std::string_view host, std::uint16_t port);

    /// Resolves addresses of one family only.
    operation<std::vector<address>> resolve(std::string_view host, std::uint16_t port,
                                            net::family only);

    /// The hosts that take the mail of `domain` (MX records, RFC 5321 section 5.1), by preference;
    /// those of equal preference as the name server has them. Empty where there is none: the domain
    /// itself is the host then. One host with an empty name: the domain takes no mail (RFC 7505).
    /// Search domains and the hosts file are of no account. `domain` is copied; A-labels (RFC
    /// 5891).
    ///
    /// Completes at once when it is known; else it resumes from the loop. Fails with a
    /// `resolve_errc`, phase resolve: `no_such_host` where the domain does not exist,
    /// `malformed_name` for an address. Cancelling it ends the wait; the query is given up unless
    /// others wait for it too.
    operation<std::vector<mail_host>> mail_hosts(std::string_view domain);

    /// Empties the cache.
    void clear_cache() noexcept;

    resolver_counters counters() const noexcept;
    loop& owner() const noexcept;

private:
    std::shared_ptr<detail::resolver_state> state_;
};

}  // namespace coracle::net

template <>
struct std::is_error_code_enum<coracle::net::resolve_errc> : std::true_type {};
