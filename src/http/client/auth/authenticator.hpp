#pragma once

#include "http/client/auth/digest.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/http/client_options.hpp>
#include <coracle/http/fields.hpp>

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The side that requests credentials: the origin or the proxy, each with its own fields (RFC 9110
/// section 11).
enum class auth_side : std::uint8_t { origin, proxy };

/// The names of the fields of a side.
std::string_view challenge_field(auth_side side) noexcept;    ///< WWW-Authenticate
std::string_view credentials_field(auth_side side) noexcept;  ///< Authorization
std::string_view info_field(auth_side side) noexcept;         ///< Authentication-Info

/// The status of a challenge of this side: 401 or 407.
std::uint16_t challenge_status(auth_side side) noexcept;

/// Authenticates a client to one origin or one proxy. Basic and Bearer are sent at once. Digest
/// needs a challenge: the first request is sent without credentials; after the challenge, requests
/// are authorised beforehand, each with its own count of the nonce. There is one for each origin
/// and its credentials. Not thread-safe.
///
///     unsigned repeats = 0;
///     for (;;) {
///         auto value = auth.authorize(request, random);   // into credentials_field(side)
///         ... send, receive ...
///         if (status != challenge_status(side) || !auth.challenged(fields, repeats)) break;
///         ++repeats;
///     }
///     auth.received(fields);
class authenticator {
public:
    authenticator() noexcept = default;
    explicit authenticator(credentials c, auth_side side = auth_side::origin)
        : credentials_(std::move(c)), side_(side) {}

    /// Returns the value of the field for this request; empty: no credentials yet. `random` is 128
    /// random bits. Fails with `invalid_argument` and the bad part as subject: a user with a colon
    /// (which Basic cannot carry, RFC 7617), a malformed token, a body that is not known beforehand
    /// where the server requires a digest of it.
    std::expected<secret, error> authorize(const digest_request& r,
                                           std::array<std::uint64_t, 2> random);

    /// Returns true if no credentials can be sent before the first challenge.
    bool needs_challenge() const noexcept {
        return credentials_.scheme == auth_scheme::digest && !challenge_;
    }

    /// Processes the challenges of a 401 or 407. Returns true if the same request should be sent
    /// once more; `repeats` is how often it was already. Returns false if the credentials were
    /// refused, or no known scheme is offered.
    bool challenged(const fields& received, unsigned repeats);

    /// Takes the next nonce from a response to accepted credentials (RFC 7615 section 3).
    void received(const fields& received);

    const credentials& used() const noexcept { return credentials_; }

private:
    std::expected<secret, error> digest(const digest_request& r,
                                        std::array<std::uint64_t, 2> random);
    bool renew_key(std::array<std::uint64_t, 2> random);

    credentials credentials_;
    auth_side side_ = auth_side::origin;
    std::optional<digest_challenge> challenge_;
    secret key_;          // for `challenge_`; empty until the first request
    std::string cnonce_;  // of the session, or of the last request
    std::uint32_t count_ = 0;
};

}  // namespace coracle::http::detail
