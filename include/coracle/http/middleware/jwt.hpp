#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/http/handler.hpp>
#include <coracle/tls/verifying_key.hpp>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

class jwt_key_set;

struct jwt_options {
    /// The issuer that tokens must name ("iss"); empty: any.
    std::string issuer = {};
    /// The audience that tokens must be for ("aud"); empty: any.
    std::string audience = {};
    /// How far clocks may differ, in whole seconds. Default one minute.
    std::chrono::seconds leeway = std::chrono::minutes(1);
    /// Refuses tokens that do not expire. Default: yes.
    bool requires_expiry = true;
    /// Bytes of a token. Default 8 KiB.
    std::size_t longest = 8 * 1024;
    /// The realm that is told to clients.
    std::string realm = "restricted";
};

/// The claims of a token (RFC 7519 section 4.1) that was verified.
struct jwt_claims {
    std::string issuer = {};
    std::string subject = {};
    std::vector<std::string> audience = {};
    std::optional<std::int64_t> expires = {};  ///< seconds since 1970
    std::optional<std::int64_t> not_before = {};
    std::optional<std::int64_t> issued = {};
    std::string id = {};
    std::string json = {};  ///< all of it, for claims of your own
};

/// The keys by which JSON Web Tokens are verified (RFC 7519, compact serialisation of RFC 7515):
/// HS256, RS256, ES256, EdDSA. Each key has its one algorithm, so a token cannot choose another.
/// Filled before it is used; then thread-safe.
class jwt_keys {
public:
    jwt_keys();

    /// Adds a shared secret of at least 32 bytes for HS256 (RFC 7518 section 3.2). Throws
    /// `exception` (invalid_argument) when it is shorter. `id` ("kid"): only for tokens that name
    /// it, or that name none; empty: for all.
    void add_secret(const secret& key, std::string_view id = {});
    /// Adds a public key for the algorithm of its kind.
    void add(tls::verifying_key key, std::string_view id = {});
    /// Adds the keys of a JSON Web Key Set (RFC 7517) for signatures by RS256, ES256 and EdDSA;
    /// others, symmetric ones among them, are passed over. Gives how many were added. Fails with
    /// `std::errc::bad_message` when it is no such set; then none is added.
    std::expected<std::size_t, error> add_set(std::string_view json);

    /// Verifies a token at a time, in seconds since 1970. Fails with `std::errc::bad_message` when
    /// it is malformed, `std::errc::permission_denied` when no key verifies it, with
    /// `std::errc::timed_out` when it has expired or is not yet valid, and with
    /// `std::errc::invalid_argument` when it is from another issuer, for another audience, or
    /// demands an extension ("crit"). The error never has any of the token.
    std::expected<jwt_claims, error> verify(std::string_view token, const jwt_options& options,
                                            std::int64_t now) const;

    /// Returns true if one of the keys was added under this id.
    bool has(std::string_view id) const noexcept;
    /// Returns true if a token that names a key by this id may mean one of these: they have it, or
    /// one without an id.
    bool may_mean(std::string_view id) const noexcept;
    /// The id of the key that a token names; empty where it names none, or is malformed. Nothing of
    /// it is verified.
    static std::string id_in(std::string_view token, const jwt_options& options);

    class state;

private:
    std::shared_ptr<state> state_;
};

/// Middleware that serves requests with a valid token in Authorization (RFC 6750), and leaves its
/// `jwt_claims` and an `identity` of its subject in the data of the request; others get 401 with
/// WWW-Authenticate. Where the keys of a `jwt_key_set` cannot be had they get 503.
class jwt_authentication {
public:
    explicit jwt_authentication(jwt_keys keys, jwt_options options = {});
    explicit jwt_authentication(const jwt_key_set& keys, jwt_options options = {});
    handler operator()(handler inner) const;

    class rules;

private:
    std::shared_ptr<rules> rules_;
};

}  // namespace coracle::http
