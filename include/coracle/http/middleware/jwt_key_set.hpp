#pragma once

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/jwt.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace coracle::http {

struct jwt_key_set_options {
    /// The time for which a set holds whose response has no max-age in Cache-Control. Default
    /// 10 min.
    duration lifetime = std::chrono::minutes(10);
    /// Bounds of that time, whatever the response says. Default 1 min and 24 h.
    duration shortest = std::chrono::minutes(1);
    duration longest = std::chrono::hours(24);
    /// The time for which a set is used on when it can be fetched no more. Default 24 h.
    duration stale = std::chrono::hours(24);
    /// The least time between two fetches, whatever the keys are that tokens name. Default 30 s.
    duration pause = std::chrono::seconds(30);
    /// The least time from a fetch that failed to the next. Default 5 s.
    duration retry = std::chrono::seconds(5);
    /// The longest time that a fetch takes. Default 5 s.
    duration patience = std::chrono::seconds(5);
    /// Bytes of a set. Default 256 KiB.
    std::size_t bytes = 256 * 1024;
};

/// The keys at a URL (a JSON Web Key Set, RFC 7517), for `jwt_authentication`. Each loop fetches
/// them when a request needs them first, and keeps them as Cache-Control says, within bounds; then
/// it fetches them anew while requests are served with those that it has. A token that names a key
/// which is not there has them fetched at once, but not within `pause` of the last time, so that
/// tokens that strangers make up cause no load elsewhere; its request waits for them, unless one of
/// the keys that it has, being without an id, may be meant. While fetching fails, the keys that it
/// has hold. Failures are logged. Take https: whoever makes the set makes the tokens.
///
///     http::client client;
///     routes.use(http::jwt_authentication(
///         http::jwt_key_set(client, "https://id.example.com/.well-known/jwks.json"), options));
///
/// A copy refers to the same one. The client must outlive the server. Thread-safe.
class jwt_key_set {
public:
    /// Throws `exception` (invalid_argument) when the URL is malformed or an option is not
    /// positive.
    jwt_key_set(client& by, std::string url, jwt_key_set_options options = {});

    /// The keys by which a token can be verified that names this one; empty: none. Null where there
    /// are none at all, since they could not be fetched. Completes at once, or when they have been
    /// fetched. On a loop.
    operation<std::shared_ptr<const jwt_keys>> keys(std::string_view id);

    /// Fetches that were begun, and those that failed, of all loops.
    std::uint64_t fetches() const noexcept;
    std::uint64_t failures() const noexcept;

    class state;

private:
    std::shared_ptr<state> state_;
};

}  // namespace coracle::http
