#pragma once

#include "http/client/auth/challenge.hpp"
#include "tls/digest.hpp"

#include <coracle/base/secret.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Digest authentication (RFC 7616, and RFC 2069 where a server knows no qop).
namespace coracle::http::detail {

/// What a server asks for, as far as we can give it.
struct digest_challenge {
    std::string realm;
    std::string nonce;
    std::optional<std::string> opaque;
    std::string algorithm;  ///< as the server wrote it; empty: it did not
    tls::detail::hash function = tls::detail::hash::md5;
    bool session = false;  ///< the "-sess" of the algorithm
    bool has_qop = false;
    bool auth = false;      ///< qop=auth is offered
    bool auth_int = false;  ///< qop=auth-int is: the body is part of the digest
    bool userhash = false;
    bool stale = false;

    /// Nothing when it lacks a part, or asks for what we do not know.
    static std::optional<digest_challenge> from(const challenge& c);
};

/// The strongest of those that can be answered (RFC 7616 section 3.7): SHA-512-256, SHA-256, MD5;
/// of equal ones the first.
std::optional<digest_challenge> strongest(std::span<const challenge> all);

struct digest_identity {
    std::string_view user;
    std::string_view password;
};

/// A request as it is digested.
struct digest_request {
    std::string_view method;
    std::string_view target;  ///< as in the request line
    /// Without it, because it is not known beforehand, auth-int is not possible.
    std::optional<std::string_view> body = {};
};

/// H(user ":" realm ":" password): all that has to be kept, and as secret as the password is for
/// this realm. With a session also the nonces (RFC 7616 section 3.4.2).
std::optional<secret> digest_key(const digest_challenge& c, const digest_identity& who,
                                 std::string_view cnonce);

/// The value of Authorization; nothing when only auth-int is offered and the body is not known.
/// `count` is how often the nonce was used, this time included.
std::optional<std::string> digest_authorization(const digest_challenge& c, const secret& key,
                                                std::string_view user, const digest_request& r,
                                                std::string_view cnonce, std::uint32_t count);

}  // namespace coracle::http::detail
