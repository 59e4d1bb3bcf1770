#pragma once

#include <coracle/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace coracle {

namespace detail {

class url_writer;

/// scheme "://" [user [":" password] "@"] authority target ["#" fragment], and where each ends.
struct url_parts {
    std::string text;
    std::uint32_t scheme_end = 0;      ///< of the ":"
    std::uint32_t password_begin = 0;  ///< 0: none
    std::uint32_t host_begin = 0;      ///< authority begins: behind the "@" or the "//"
    std::uint32_t host_end = 0;        ///< with the "]"
    std::uint32_t path_begin = 0;
    std::uint32_t query_begin = 0;     ///< of the "?"; that of the fragment where there is none
    std::uint32_t fragment_begin = 0;  ///< of the "#"; the end where there is none
    std::uint16_t port = 0;
};

}  // namespace detail

/// The treatment of path and query by `url::parse`.
enum class url_path : std::uint8_t {
    normal,  ///< dot segments resolved ("%2e" is a dot there); what is no URL text is encoded
    as_is,   ///< as it was written, and the query too; only what no request may carry is encoded:
             ///< spaces, quotes, "<", ">", bytes beyond ASCII
};

/// An absolute URL with an authority (RFC 3986): `scheme://[user[:password]@]host[:port]/path?query
/// #fragment`, kept in normal form as one text (section 6.2.2): scheme and host in lower case, dot
/// segments resolved, an empty path as "/", the port left out where it is that of the scheme; what
/// may not stand in a URL as it is (spaces, quotes, bytes beyond ASCII in path, query and fragment)
/// is percent-encoded, as people paste such. Escapes in path, query and fragment stay as they were
/// written: their meaning is the server's. A regular value type, of which copies are cheap: they
/// share what does not change. The views that it gives live until it is changed, moved or
/// destroyed. As safe between threads as a std::string.
class url {
public:
    /// The largest size of a URL in normal form, in bytes; a longer one fails with
    /// `limit_exceeded`.
    static constexpr std::size_t max_size = 64 * 1024;

    /// No URL: every part is empty.
    url() noexcept = default;

    /// Names beyond ASCII in the host become Punycode (RFC 5891, mapped as in UTS #46). Spaces
    /// around the text are left out. Fails with `invalid_argument` and says in the subject what is
    /// wrong with which part, never with the user's name or password in it. Refused is what two
    /// readers could take for two things: a text without "scheme://", control bytes, backslashes
    /// before the query, a second "@", a host that is empty, that holds what no name has, or that
    /// ends in a number and is no IPv4 address of four decimal numbers, IPv6 zones, port 0.
    static std::expected<url, error> parse(std::string_view text, url_path how = url_path::normal);

    /// Resolves `reference` against this URL (RFC 3986 section 5.2), as in a Location field: dot
    /// segments are resolved, all else stays as `url_path::as_is` leaves it. User and password of
    /// this URL stay where the reference names no authority of its own. Fails as `parse` does.
    std::expected<url, error> resolve(std::string_view reference) const;

    /// The whole in normal form, with user and password if there are any: `redacted` is for logs.
    std::string_view text() const noexcept { return parts().text; }
    /// Returns the text without user, password and fragment.
    std::string redacted() const;

    bool empty() const noexcept { return parts_ == nullptr; }
    std::string_view scheme() const noexcept;
    /// The user and the password, decoded.
    std::string user() const;
    std::string password() const;
    bool has_user() const noexcept;
    /// The host, without the brackets of an IPv6 address.
    std::string_view host() const noexcept;
    bool host_is_ipv6() const noexcept;
    /// The port that is to be connected to: that of the scheme (http, https, ws, wss, ftp, smtp,
    /// smtps, socks...) when the URL names none, 0 for an unknown scheme.
    std::uint16_t port() const noexcept { return parts().port; }
    /// host[:port], as in a Host field: without the port of the scheme.
    std::string_view authority() const noexcept;
    /// Begins with "/".
    std::string_view path() const noexcept;
    bool has_query() const noexcept;
    /// The query, without the "?".
    std::string_view query() const noexcept;
    /// path[?query], as in a request line.
    std::string_view target() const noexcept;
    /// The fragment, without the "#".
    std::string_view fragment() const noexcept;

    /// Same scheme, host and port (RFC 6454).
    bool same_origin(const url& other) const noexcept;

    /// Appends `name=value`, encoded as forms are, after "?" or "&". Like `set_fragment` it throws
    /// `coracle::exception` with `limit_exceeded` beyond `max_size`, with `invalid_argument` when
    /// this is no URL, and changes nothing then.
    url& add_query(std::string_view name, std::string_view value);
    /// Forgets user and password.
    url& remove_user();
    /// Sets the fragment, and encodes the characters that may not stand in one; an empty one
    /// removes the fragment with its "#".
    url& set_fragment(std::string_view encoded);

    friend bool operator==(const url& a, const url& b) noexcept { return a.text() == b.text(); }

private:
    friend class detail::url_writer;

    explicit url(std::shared_ptr<const detail::url_parts> parts) noexcept
        : parts_(std::move(parts)) {}
    template <class Write>
    static std::expected<url, error> written(Write write);
    const detail::url_parts& parts() const noexcept { return parts_ ? *parts_ : none(); }
    static const detail::url_parts& none() noexcept;

    std::shared_ptr<const detail::url_parts> parts_;
};

}  // namespace coracle
