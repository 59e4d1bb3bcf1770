#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/request.hpp>
#include <coracle/http/response.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

struct signed_cookie_options {
    /// The time for which a value is accepted, and kept by the browser, in whole seconds. Default
    /// 24 h.
    std::chrono::seconds lifetime = std::chrono::hours(24);
    std::string path = "/";
    bool secure = true;
    bool http_only = true;
    http::same_site same_site = http::same_site::lax;
};

namespace detail {

/// A cookie whose value only the holder of the keys can make.
class guarded_cookie {
public:
    guarded_cookie(bool encrypts, std::string_view name, std::vector<secret> keys,
                   signed_cookie_options options);

    set_cookie make(std::string_view value) const;
    set_cookie removal() const;
    std::optional<std::string> read(const request& req) const;
    std::optional<std::string> open(std::string_view text) const;

private:
    struct rules;
    std::shared_ptr<const rules> rules_;
};

}  // namespace detail

/// A cookie whose value the client can read and not change: it has a signature (HMAC-SHA-256) over
/// its name, value and expiry, so it is accepted under no other name and not for longer. One that
/// was stolen, or was replaced by an older one of the same client, is accepted until it expires:
/// what must end sooner belongs into a session. A copy refers to the same keys. Thread-safe;
/// `make`, `read` and `open` are called on a loop, whose clock they use.
///
///     const http::signed_cookie theme("theme", {key});
///     response.add_cookie(theme.make("dark"));
///     std::optional<std::string> value = theme.read(request);
class signed_cookie {
public:
    /// The first key signs, all are accepted: to change the key put the new one in front, and drop
    /// the old one after `lifetime`. Throws `exception` (invalid_argument) naming a key that has
    /// fewer than 32 bytes, more than 8 keys or none, a lifetime that is not positive or exceeds
    /// 400 days, and whatever `set_cookie` refuses.
    signed_cookie(std::string_view name, std::vector<secret> keys,
                  signed_cookie_options options = {})
        : inner_(false, name, std::move(keys), std::move(options)) {}

    /// Returns the cookie with a value of any bytes, which it takes 4/3 of, and 55 bytes. Throws as
    /// `set_cookie` where it exceeds 4,096 bytes with its name.
    set_cookie make(std::string_view value) const { return inner_.make(value); }
    /// Returns a cookie that makes a browser forget it.
    set_cookie removal() const { return inner_.removal(); }
    /// Returns the value that a request brings; nothing where there is none, or it was not made by
    /// one of these keys for this name, or it has expired.
    std::optional<std::string> read(const request& req) const { return inner_.read(req); }
    /// Returns what `read` does, of the text of a cookie.
    std::optional<std::string> open(std::string_view text) const { return inner_.open(text); }

private:
    detail::guarded_cookie inner_;
};

/// A cookie whose value the client can neither read nor change (AES-256-GCM); in all else a
/// `signed_cookie`. How long the value is can be seen.
class encrypted_cookie {
public:
    encrypted_cookie(std::string_view name, std::vector<secret> keys,
                     signed_cookie_options options = {})
        : inner_(true, name, std::move(keys), std::move(options)) {}

    set_cookie make(std::string_view value) const { return inner_.make(value); }
    set_cookie removal() const { return inner_.removal(); }
    std::optional<std::string> read(const request& req) const { return inner_.read(req); }
    std::optional<std::string> open(std::string_view text) const { return inner_.open(text); }

private:
    detail::guarded_cookie inner_;
};

}  // namespace coracle::http
