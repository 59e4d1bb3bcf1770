#pragma once

#include <coracle/base/error.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::smtp {

/// The mode of a policy of MTA-STS (RFC 8461 section 5).
enum class sts_mode : std::uint8_t {
    none,     ///< the domain has no policy any more
    testing,  ///< mail goes on where the policy fails; the client logs a warning
    enforce,  ///< mail goes to allowed hosts with a valid certificate, or nowhere
};

/// The policy that a domain has for the TLS of those who send it mail: MTA-STS (RFC 8461). A
/// regular value type.
///
/// The program fetches it, over HTTPS from https://mta-sts.DOMAIN/.well-known/mta-sts.txt, and
/// gives it to `client::set_policy`.
struct sts_policy {
    /// Bytes that `parse` reads at most (RFC 8461 section 3.3).
    static constexpr std::size_t most_bytes = 64 * 1024;
    /// Patterns of a policy.
    static constexpr std::size_t most_patterns = 1000;

    sts_mode mode = sts_mode::none;
    /// Hosts that may take the mail, lower case: "mx.example.org", "*.example.org".
    std::vector<std::string> mx = {};
    /// How long it holds. Default none; `parse` wants it.
    std::chrono::seconds max_age{};
    /// The Unix time at which it was fetched; 0, the default: it holds until it is replaced.
    std::int64_t fetched = 0;

    /// Reads the text of a policy (RFC 8461 section 3.2): lines of "key: value" with LF or CRLF,
    /// among them "version: STSv1", "mode", "max_age" and, unless the mode is none, "mx". Keys that
    /// are not known are passed over, and of a key that comes twice, other than mx, the first
    /// counts. Fails with `std::errc::invalid_argument` and the key. Safe from any thread.
    static std::expected<sts_policy, error> parse(std::string_view text, std::int64_t fetched = 0);

    /// Returns true if mail may go to this host (RFC 8461 section 4.1): a pattern is its name, or
    /// "*." stands for its first label. Case does not count.
    bool allows(std::string_view host) const noexcept;
    /// Returns true while it holds.
    bool holds(std::int64_t unix_time) const noexcept;

    friend bool operator==(const sts_policy&, const sts_policy&) = default;
};

}  // namespace coracle::smtp
