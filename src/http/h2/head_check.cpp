#include "http/h2/head_check.hpp"

#include "base/whole_number.hpp"
#include "http/message/char_table.hpp"
#include "http/message/connection_field.hpp"
#include "http/message/token.hpp"
#include "http/message/trailer.hpp"

#include <charconv>
#include <limits>

namespace coracle::http::h2 {

namespace {

/// RFC 3986 section 3.1.
bool is_scheme(std::string_view text) noexcept {
    if (text == "https" || text == "http") return true;
    if (text.empty() || (text.front() | 0x20) < 'a' || (text.front() | 0x20) > 'z') return false;
    for (const char byte : text) {
        const bool letter = (byte | 0x20) >= 'a' && (byte | 0x20) <= 'z';
        const bool other =
            (byte >= '0' && byte <= '9') || byte == '+' || byte == '-' || byte == '.';
        if (!letter && !other) return false;
    }
    return true;
}

/// Visible characters, without user information, which is forbidden in requests (RFC 9113 section
/// 8.3.1).
bool is_authority(std::string_view text) noexcept {
    for (const char byte : text) {
        if (!is_char(byte, char_path) || static_cast<unsigned char>(byte) >= 0x80) return false;
        if (byte == '@' || byte == '/' || byte == '\\') return false;
    }
    return true;
}

bool is_web(std::string_view scheme) noexcept {
    return scheme == "https" || scheme == "http" || equal_ignoring_case(scheme, "https") ||
           equal_ignoring_case(scheme, "http");
}

}  // namespace

bool head_check::first(seen what) noexcept {
    const bool before = (seen_ & what) != 0;
    seen_ |= what;
    return !before;
}

bool head_check::accept(const field& f, bool well_formed, head& out) {
    if (malformed_) return false;
    if (f.name.starts_with(':')) {
        // Pseudo-fields come before all fields, and never in trailers (RFC 9113 section 8.3).
        require(!fields_begun_ && kind_ != head_kind::trailers);
        if (!malformed_) accept_pseudo(f.name, f.value, out);
        return false;
    }
    fields_begun_ = true;
    require(well_formed && !is_connection_field(f.id));
    if (kind_ == head_kind::trailers && !may_be_trailer(f.id)) return false;
    if (!malformed_) accept_field(f.value, f.id, out);
    return !malformed_;
}

/// Checks each value by its own rules, none of which allows a control character.
void head_check::accept_pseudo(std::string_view name, std::string_view value, head& out) noexcept {
    if (kind_ == head_kind::response) {
        accept_status(name, value, out);
        return;
    }
    if (name == ":path") {
        require(first(seen_path) && is_target(value));
        out.path = value;
    } else if (name == ":method") {
        out.method = parse_method(value);
        require(first(seen_method) && (out.method != method::other || is_token(value)));
        out.method_text = value;
    } else if (name == ":scheme") {
        require(first(seen_scheme) && is_scheme(value));
        out.scheme = value;
    } else if (name == ":authority") {
        require(first(seen_authority) && is_authority(value));
        out.authority = value;
    } else if (name == ":protocol") {
        require(first(seen_protocol) && extended_connect_ && is_token(value));
        out.protocol = value;
    } else {
        require(false);
    }
}

void head_check::accept_status(std::string_view name, std::string_view value, head& out) noexcept {
    require(name == ":status" && first(seen_status) && value.size() == 3);
    const auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), out.code);
    // HTTP/2 has no 101 (RFC 9113 section 8.6).
    require(failed == std::errc() && end == value.data() + value.size() && out.code >= 100 &&
            out.code != 101);
}

void head_check::accept_field(std::string_view value, field_id id, head& out) noexcept {
    switch (id) {
        case field_id::te: require(equal_ignoring_case(value, "trailers")); break;
        case field_id::content_length: {
            // As in HTTP/1, an equal second one is refused in requests: no sender needs it.
            require(kind_ == head_kind::response ||
                    (kind_ == head_kind::request && !out.has_content_length));
            const auto length = coracle::detail::whole_number<std::uint64_t>(value);
            require(length && *length <= std::numeric_limits<std::int64_t>::max());
            require(!out.has_content_length || length == out.content_length);
            out.content_length = length.value_or(0);
            out.has_content_length = true;
            break;
        }
        case field_id::host:
            if (kind_ != head_kind::request) break;
            // Host and ":authority" must agree (RFC 9113 section 8.3.1): a difference is a way past
            // filters.
            require(!host_seen_ && is_authority(value));
            require((seen_ & seen_authority) == 0 || equal_ignoring_case(out.authority, value));
            host_seen_ = true;
            if ((seen_ & seen_authority) == 0) out.authority = value;
            break;
        default: break;
    }
}

void head_check::finish(head& out) noexcept {
    if (malformed_) return;
    if (kind_ == head_kind::response) require((seen_ & seen_status) != 0);
    if (kind_ == head_kind::request) finish_request(out);
}

void head_check::finish_request(head& out) noexcept {
    require((seen_ & seen_method) != 0);
    if (out.method == method::connect && (seen_ & seen_protocol) == 0) {
        finish_connect(out);
        return;
    }
    // An extended CONNECT has all of them, and the authority (RFC 8441 section 4).
    require((seen_ & seen_protocol) == 0 ||
            (out.method == method::connect && (seen_ & seen_authority) != 0));
    require((seen_ & seen_scheme) != 0 && (seen_ & seen_path) != 0);
    if (malformed_ || !is_web(out.scheme)) return;
    // http and https need a host, and a path that begins with "/", or "*" (RFC 9113 section 8.3.1).
    require(!out.authority.empty());
    require(out.path.front() == '/' || (out.path == "*" && out.method == method::options));
}

/// RFC 9113 section 8.5.
void head_check::finish_connect(head& out) noexcept {
    require((seen_ & (seen_scheme | seen_path)) == 0 && !out.authority.empty());
    require(out.authority.find(':') != std::string_view::npos);
}

}  // namespace coracle::http::h2
