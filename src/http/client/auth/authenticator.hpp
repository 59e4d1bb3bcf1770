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

/// Who asks: the server or the proxy before it, each with its own fields (RFC 9110 section 11).
enum class auth_side : std::uint8_t { origin, proxy };

/// The names of the fields of a side.
std::string_view challenge_field(auth_side side) noexcept;    ///< WWW-Authenticate
std::string_view credentials_field(auth_side side) noexcept;  ///< Authorization
std::string_view info_field(auth_side side) noexcept;         ///< Authentication-Info

/// The status by which a side asks: 401 or 407.
std::uint16_t challenge_status(auth_side side) noexcept;

/// How a client makes itself known to one origin or one proxy. Basic and Bearer are sent at once.
/// Digest needs a challenge: the first request goes out without credentials; once it was
/// challenged, the next requests are authorised beforehand, each with its own count of the nonce.
/// One for each origin, with the credentials that hold there. Not thread-safe.
///
///     unsigned answered = 0;
///     for (;;) {
///         auto value = who.authorize(request, random);   // into credentials_field(side)
///         ... send, receive ...
///         if (status != challenge_status(side) || !who.challenged(answer, answered)) break;
///         ++answered;
///     }
///     who.received(answer);
class authenticator {
public:
    authenticator() noexcept = default;
    explicit authenticator(credentials who, auth_side side = auth_side::origin)
        : who_(std::move(who)), side_(side) {}

    /// The value of the field for this request; empty: there is nothing to say yet. `random` are
    /// 128 random bits. Fails with `invalid_argument` and names the part: a user with a colon in it
    /// (Basic cannot carry one, RFC 7617), a token that is none, a request without known body where
    /// the server demands that it be digested.
    std::expected<secret, error> authorize(const digest_request& r,
                                           std::array<std::uint64_t, 2> random);

    /// Takes the challenges of a 401 or 407. True when the same request should be sent once more;
    /// `answered` is how often that was done for it. False when the credentials were refused, or
    /// nothing that we know is offered.
    bool challenged(const fields& answer, unsigned answered);

    /// Takes what an answer that was not refused says of the next nonce (RFC 7616 section 3.5).
    void received(const fields& answer);

    const credentials& who() const noexcept { return who_; }

private:
    std::expected<secret, error> digest(const digest_request& r,
                                        std::array<std::uint64_t, 2> random);
    bool renew_key(std::array<std::uint64_t, 2> random);

    credentials who_;
    auth_side side_ = auth_side::origin;
    std::optional<digest_challenge> challenge_;
    secret key_;          // of `challenge_`; empty until the first request
    std::string cnonce_;  // of the session, or of the last request
    std::uint32_t count_ = 0;
};

}  // namespace coracle::http::detail
