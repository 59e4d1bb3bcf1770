#include "http/client/auth/authenticator.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/mime/base64.hpp>

#include <limits>
#include <utility>

namespace coracle::http::detail {
namespace {

/// The most repeats of one request because of a stale nonce.
constexpr unsigned most_stale = 2;

std::unexpected<error> refused(std::string_view part) {
    return std::unexpected(error(std::errc::invalid_argument, "authorize").on(part));
}

/// Joins both parts in one secret text.
std::expected<secret, error> basic(const credentials& c) {
    if (c.user.find(':') != std::string::npos) {
        return refused("the user's name holds a colon, which Basic cannot carry");
    }
    const std::string_view password = c.password.reveal();
    std::string pair;
    // Reserves all of it at once, so that no copy of a part stays in memory.
    pair.reserve(c.user.size() + 1 + password.size());
    pair.append(c.user).append(":").append(password);
    const secret encoded(mime::base64_encode(pair));
    wipe(pair.data(), pair.size());
    std::string value;
    value.reserve(6 + encoded.reveal().size());
    value.append("Basic ").append(encoded.reveal());
    return secret(std::move(value));
}

/// Accepts a b64token (RFC 6750 section 2.1) and any other visible text, because such tokens are in
/// use.
std::expected<secret, error> bearer(const credentials& c) {
    const std::string_view token = c.password.reveal();
    if (token.empty() || !is_field_value(token)) {
        return refused("the token is empty or holds a byte that no field may hold");
    }
    std::string value;
    value.reserve(7 + token.size());
    value.append("Bearer ").append(token);
    return secret(std::move(value));
}

std::string cnonce_of(std::array<std::uint64_t, 2> random) {
    std::string text;
    for (const std::uint64_t bits : random) coracle::detail::append_hex(text, bits);
    return text;
}

}  // namespace

std::string_view challenge_field(auth_side side) noexcept {
    return side == auth_side::origin ? "WWW-Authenticate" : "Proxy-Authenticate";
}

std::string_view credentials_field(auth_side side) noexcept {
    return side == auth_side::origin ? "Authorization" : "Proxy-Authorization";
}

std::string_view info_field(auth_side side) noexcept {
    return side == auth_side::origin ? "Authentication-Info" : "Proxy-Authentication-Info";
}

std::uint16_t challenge_status(auth_side side) noexcept {
    return side == auth_side::origin ? 401 : 407;
}

std::expected<secret, error> authenticator::authorize(const digest_request& r,
                                                      std::array<std::uint64_t, 2> random) {
    switch (credentials_.scheme) {
        case auth_scheme::none: break;
        case auth_scheme::basic: return basic(credentials_);
        case auth_scheme::bearer: return bearer(credentials_);
        case auth_scheme::digest: return digest(r, random);
    }
    return secret();
}

bool authenticator::renew_key(std::array<std::uint64_t, 2> random) {
    // The key of a session includes the first cnonce, so that one is kept (RFC 7616 section 3.4.2).
    if (!challenge_->session || key_.empty()) cnonce_ = cnonce_of(random);
    if (!key_.empty()) return true;
    auto key =
        digest_key(*challenge_, {credentials_.user, credentials_.password.reveal()}, cnonce_);
    if (!key) return false;
    key_ = *std::move(key);
    return true;
}

std::expected<secret, error> authenticator::digest(const digest_request& r,
                                                   std::array<std::uint64_t, 2> random) {
    if (!challenge_ || !renew_key(random)) return secret();
    auto value = digest_authorization(*challenge_, key_, credentials_.user, r, cnonce_, count_ + 1);
    if (!value) return refused("body");
    // The count of the nonce is used up: the next request gets a new challenge.
    if (++count_ == std::numeric_limits<std::uint32_t>::max()) challenge_.reset();
    return secret(*std::move(value));
}

bool authenticator::challenged(const fields& received, unsigned repeats) {
    // Credentials of the other schemes were sent with the request, so they were refused.
    if (credentials_.scheme != auth_scheme::digest) return false;
    auto next = strongest(challenges_in(received, challenge_field(side_)));
    if (!next || repeats > most_stale || (repeats != 0 && !next->stale)) return false;
    // Some servers always send the same nonce, and expect the count to go on.
    if (!challenge_ || challenge_->nonce != next->nonce) count_ = 0;
    challenge_ = std::move(next);
    key_ = {};
    return true;
}

void authenticator::received(const fields& received) {
    if (!challenge_) return;
    const field* const line = received.find(info_field(side_));
    if (line == nullptr) return;
    std::string nonce = info_parameter(line->value, "nextnonce");
    if (nonce.empty() || nonce == challenge_->nonce || !is_field_value(nonce)) return;
    challenge_->nonce = std::move(nonce);
    count_ = 0;
}

}  // namespace coracle::http::detail
