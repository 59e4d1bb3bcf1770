#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/url.hpp>
#include <coracle/http/cookie.hpp>
#include <coracle/http/fields.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http {

/// A cookie as a client keeps it (RFC 6265bis section 5.7).
struct stored_cookie {
    std::string name;    ///< may be empty: then the value goes out alone
    std::string value;   ///< as it was received, with its quotes
    std::string domain;  ///< lower case, without a leading dot
    std::string path = "/";
    /// Seconds since 1970, at most 400 days ahead; nothing: until the session ends.
    std::optional<std::int64_t> expires = {};
    bool host_only = true;  ///< for `domain` itself, not for the hosts below it
    bool secure = false;    ///< only for https and wss
    bool http_only = false;
    /// Stored for information only: a client that is not a browser has no site that its requests
    /// come from.
    http::same_site same_site = http::same_site::unset;

    friend bool operator==(const stored_cookie&, const stored_cookie&) = default;
};

/// The outcome for a received cookie.
enum class cookie_verdict : std::uint8_t {
    stored,
    removed,        ///< it had expired already, which is how servers take one back
    malformed,      ///< control bytes, neither name nor value, or a domain that is none
    too_large,      ///< name and value have more than 4,096 bytes
    other_site,     ///< for a domain that the host is not in
    public_suffix,  ///< for all sites below "com", "co.uk" or the like
    insecure,       ///< Secure, or in the way of a Secure one, from http or ws
    prefix,         ///< its name begins with "__Host-" or the like, and it is not as that demands
};

std::string_view to_string(cookie_verdict v) noexcept;

struct cookie_limits {
    /// Cookies of one domain. Beyond it those go that are not Secure, and of these the one that was
    /// not sent for longest. Default 180, as browsers have.
    std::size_t per_domain = 180;
    /// Cookies in all. Beyond it those go that were not sent for longest, and a thirty-second part
    /// more, so that this is rare. Default 3,000.
    std::size_t cookies = 3000;
    /// Bytes of a Cookie field: what servers take as one line is often 8 KiB. Cookies that come
    /// later in the order of sending and do not fit are not sent. Default 8,000.
    std::size_t field = 8000;
    /// Bytes of a file that is loaded. Default 16 MiB.
    std::size_t file = 16 * 1024 * 1024;
};

/// The treatment of cookies without an expiry time when cookies are written.
enum class session_cookies : std::uint8_t { keep, drop };

/// The cookies of a client: stores those of Set-Cookie fields and selects those for a request (RFC
/// 6265bis sections 5.6 to 5.8), with the list of public suffixes of libpsl, so that no site sets
/// cookies for others. Times are seconds since 1970 (`loop::unix_time`). Safe from several threads,
/// so clients and loops may share one; it must outlive them.
class cookie_jar {
public:
    explicit cookie_jar(const cookie_limits& limits = {});
    cookie_jar(const cookie_jar&) = delete;
    cookie_jar& operator=(const cookie_jar&) = delete;
    ~cookie_jar();

    /// Takes all cookies of a response to a request for `from`. Invalid ones are skipped.
    void receive(const url& from, const fields& received, std::int64_t now);
    /// Takes the value of one Set-Cookie field.
    cookie_verdict receive(const url& from, std::string_view set_cookie, std::int64_t now);

    /// The value of the Cookie field of a request to `to`, longest path first, then oldest first;
    /// empty when there is none to send.
    std::string cookies_for(const url& to, std::int64_t now);

    /// Adds a cookie as if its domain itself had set it over https; one of the same name, domain
    /// and path is replaced. A leading dot of the domain is taken off.
    cookie_verdict set(stored_cookie c, std::int64_t now);
    /// Returns the cookies that have not expired, oldest first.
    std::vector<stored_cookie> list(std::int64_t now) const;
    /// Returns the number of cookies, including expired ones that were not looked at since.
    std::size_t size() const noexcept;
    /// Returns the number of cookies removed because of `limits`.
    std::uint64_t evicted() const noexcept;
    /// Returns false if there is none of these.
    bool remove(std::string_view domain, std::string_view path, std::string_view name);
    void clear();
    /// Ends the session: removes what has no time to expire at.
    void clear_session();

    /// The cookies in Netscape's cookies.txt format, as curl reads it; what has expired is left
    /// out, and what cannot stand in it: a tab in a name, path or value. SameSite is not kept.
    std::string text(std::int64_t now, session_cookies which = session_cookies::keep) const;
    /// Adds the cookies of such a text, as `set` does, and gives how many were. Lines that are none
    /// are passed over.
    std::size_t read(std::string_view text, std::int64_t now);

    /// Writes `text` to a file that only its owner may read, and replaces an older one atomically.
    /// Symbolic links are followed and stay; a device or a FIFO is written to, never replaced.
    /// Blocks. Fails as open(2), write(2) and rename(2) do, and with
    /// `std::errc::no_such_device_or_address` for a FIFO without a reader.
    std::expected<void, error> save(const std::string& path, std::int64_t now,
                                    session_cookies which = session_cookies::keep) const;
    /// Reads a file, a pipe or a device to its end, and gives how many cookies were added. Blocks.
    /// Fails as open(2) and read(2) do, and with `errc::limit_exceeded` above `limits.file`.
    std::expected<std::size_t, error> load(const std::string& path, std::int64_t now);

private:
    struct state;
    const std::unique_ptr<state> state_;
};

}  // namespace coracle::http
