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

/// Why a name has no addresses. `timed_out` compares equal to `std::errc::timed_out`,
/// `malformed_name` to `std::errc::invalid_argument`.
enum class resolve_errc {
    no_such_host = 1,    ///< nobody has this name
    no_addresses,        ///< the name exists, but has no address of the wanted family
    server_failure,      ///< the name server could not answer (SERVFAIL and its like)
    refused,             ///< the name server does not answer us
    timed_out,           ///< no name server answered in time
    server_unreachable,  ///< nothing listens where the name server should be
    malformed_name,      ///< this can be no host name
    malformed_answer,    ///< the name server's answer cannot be read
};

const std::error_category& resolve_category() noexcept;
std::error_code make_error_code(resolve_errc e) noexcept;

struct resolver_options {
    /// Name servers, asked in this order. Default: those of the system (`configuration`).
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
    /// How long one server has for one answer. Default 2 s.
    duration timeout = std::chrono::seconds(2);
    /// How often all the servers are asked in turn. Default 3.
    unsigned attempts = 3;
    /// How often at most it is seen whether the files above have changed. Default 5 s.
    duration recheck = std::chrono::seconds(5);
    /// Answers kept, of both kinds; beyond, those not used for longest go. Default 10,000.
    std::size_t cache = 10'000;
    /// How long an answer is kept at most, whatever its TTL. Default 1 h.
    duration longest_ttl = std::chrono::hours(1);
    /// How long it is kept at most that a name does not exist. Default 1 min.
    duration longest_negative_ttl = std::chrono::minutes(1);
    /// Questions that are out at a time; others wait for their turn. Default 100.
    std::size_t questions = 100;
    /// Addresses taken from one answer; the others are dropped. Default 64.
    std::size_t addresses = 64;
    /// Search domains that are tried. Default 8.
    std::size_t domains = 8;
};

/// What a resolver did since it was made. `cached` is the number of answers that it keeps now.
struct resolver_counters {
    std::uint64_t asked = 0;      ///< names of one family that were asked for
    std::uint64_t hits = 0;       ///< of these, answered from the cache
    std::uint64_t shared = 0;     ///< of these, joined with one that was under way
    std::uint64_t questions = 0;  ///< sent to name servers, each attempt counted
    std::uint64_t failures = 0;   ///< questions that brought no usable answer
    std::uint64_t cached = 0;
};

namespace detail {
class resolver_state;
}

/// Finds the addresses of hosts: numeric ones, `localhost` (RFC 6761), the hosts file, then name
/// servers, by UDP and where an answer is too long by TCP. Keeps answers as long as their TTL says
/// (RFC 2308 for those that say no). Who asks for a name that is being looked up waits for the same
/// answer. The hosts file and the configuration are read with plain reads, on the loop.
///
/// Belongs to one loop, and goes before it. On a backend that knows names of its own, a simulation,
/// that alone is asked. Waits that are left when it is destroyed end as cancelled.
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
    /// Asks for IPv6 and IPv4 at the same time, and completes when both have been answered; one of
    /// them suffices. At once when everything is known; else it resumes from the loop. Fails with a
    /// `resolve_errc`, phase resolve. Cancelling it ends the wait; the question is given up unless
    /// others wait for it too.
    operation<std::vector<address>> resolve(std::string_view host, std::uint16_t port);

    /// The same for one family.
    operation<std::vector<address>> resolve(std::string_view host, std::uint16_t port,
                                            net::family only);

    /// Forgets all answers.
    void clear_cache() noexcept;

    resolver_counters counters() const noexcept;
    loop& owner() const noexcept;

private:
    std::shared_ptr<detail::resolver_state> state_;
};

}  // namespace coracle::net

template <>
struct std::is_error_code_enum<coracle::net::resolve_errc> : std::true_type {};
