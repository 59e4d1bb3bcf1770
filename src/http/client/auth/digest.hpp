#pragma once

#include "http/client/auth/challenge.hpp"
#include "tls/digest.hpp"

#include <coracle/base/secret.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

// Digest authentication (RFC 7616, and RFC 2069 for servers without qop).
namespace coracle::http::detail {

/// A Digest challenge that we support.
struct digest_challenge {
    std::string realm;
    std::string nonce;
    std::optional<std::string> opaque;
    std::string algorithm;  ///< as the server spelled it; empty if absent
    tls::detail::hash function = tls::detail::hash::md5;
    bool session = false;  ///< the "-sess" of the algorithm
    bool has_qop = false;
    bool auth = false;      ///< qop=auth is offered
    bool auth_int = false;  ///< qop=auth-int is offered: the digest includes the body
    bool userhash = false;
    bool stale = false;

    /// Returns nothing if a part is missing or unsupported.
    static std::optional<digest_challenge> from(const challenge& c);
};

/// Returns the strongest supported challenge (RFC 7616 section 3.7): SHA-512-256, SHA-256, MD5; of
/// equal ones the first.
std::optional<digest_challenge> strongest(std::span<const challenge> all);

struct digest_identity {
    std::string_view user;
    std::string_view password;
};

/// The parts of a request that the digest covers.
struct digest_request {
    std::string_view method;
    std::string_view target;  ///< as in the request line
    /// The body; nothing if it is not known beforehand, so that auth-int is impossible.
    std::optional<std::string_view> body = {};
};

/// Returns H(user ":" realm ":" password), with the nonces for a session (RFC 7616 section 3.4.2).
/// It replaces the password for this realm, and is as secret.
std::optional<secret> digest_key(const digest_challenge& c, const digest_identity& identity,
                                 std::string_view cnonce);

/// Returns the value of Authorization; nothing if only auth-int is offered and the body is unknown.
/// `count` is the number of uses of the nonce, including this one.
std::optional<std::string> digest_authorization(const digest_challenge& c, const secret& key,
                                                std::string_view user, const digest_request& r,
                                                std::string_view cnonce, std::uint32_t count);

}  // namespace coracle::http::detail
