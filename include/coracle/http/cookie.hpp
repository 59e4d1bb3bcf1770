#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::http {

/// One cookie of a Cookie field: views into it.
struct cookie_pair {
    std::string_view name;
    std::string_view value;
};

/// Takes the next cookie off a Cookie field (RFC 6265bis section 4.2.1); false at the end. Reads
/// what clients send, not only what they should: any spacing, values with spaces or commas, and a
/// value in quotes, which are taken off. What has no name, or a byte that no cookie may hold in
/// it, is passed over.
bool next_cookie(std::string_view& rest, cookie_pair& out) noexcept;

/// The requests from other sites that carry the cookie (RFC 6265bis section 5.6.7).
enum class same_site : std::uint8_t {
    unset,   ///< the browser decides; most take it as `lax`
    strict,  ///< none
    lax,     ///< only those by which the user comes to this site
    none,    ///< all; demands Secure
};

/// The value of a Set-Cookie field (RFC 6265bis section 4.1), made part by part:
/// `set_cookie("session", id).path("/").http_only().secure().max_age(1h)`. Everything is checked
/// when it is set, or by `text` where it depends on other parts: throws `exception`
/// (invalid_argument) on the name of the part. A regular value type.
class set_cookie {
public:
    /// A cookie until the browser ends, for this host, sent with requests below the path of this
    /// one. The name is a token. The value holds visible ASCII without quotes, commas, semicolons
    /// and backslashes: encode others (`percent_encode`). Both together have at most 4,096 bytes,
    /// each attribute at most 1,024, as in browsers, which drop what is longer.
    set_cookie(std::string_view name, std::string_view value);

    /// Returns a cookie that makes a browser forget the one of this name: no value, and a time in
    /// the past. Path and domain must be as when it was set.
    static set_cookie removal(std::string_view name);

    /// Paths begin with "/"; no control bytes and no ";".
    set_cookie& path(std::string_view path);
    /// The host and all hosts below it; a leading dot is taken off, as browsers do.
    set_cookie& domain(std::string_view domain);
    /// The moment from which it is forgotten, in seconds since 1970.
    set_cookie& expires(std::int64_t unix_seconds);
    /// Sets the time for which it is kept; browsers cut it to 400 days. Zero or less forgets it at
    /// once.
    set_cookie& max_age(std::chrono::seconds age);
    /// Lets browsers send it over TLS only.
    set_cookie& secure(bool on = true) noexcept;
    /// Hides it from scripts.
    set_cookie& http_only(bool on = true) noexcept;
    set_cookie& same_site(http::same_site policy) noexcept;
    /// Kept apart for each site that the page is embedded in (CHIPS); demands Secure.
    set_cookie& partitioned(bool on = true) noexcept;

    std::string_view name() const noexcept { return name_; }
    std::string_view value() const noexcept { return value_; }

    /// The value of the field. Throws where parts contradict each other (RFC 6265bis
    /// section 4.1.3):
    /// `__Secure-` names demand Secure, `__Host-` names Secure, Path=/ and no Domain, `__Http-` and
    /// `__Host-Http-` also HttpOnly; SameSite=None and Partitioned demand Secure.
    std::string text() const;

private:
    std::string name_;
    std::string value_;
    std::string path_;
    std::string domain_;
    std::optional<std::int64_t> expires_;
    std::optional<std::int64_t> max_age_;
    http::same_site same_site_ = http::same_site::unset;
    bool secure_ = false;
    bool http_only_ = false;
    bool partitioned_ = false;
};

}  // namespace coracle::http
