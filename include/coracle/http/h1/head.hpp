#pragma once

#include <coracle/http/field.hpp>
#include <coracle/http/h1/parse_error.hpp>
#include <coracle/http/method.hpp>
#include <coracle/http/version.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace coracle::http::h1 {

/// One field line. Views into the bytes that were parsed, the value without the spaces around it.
using head_field = http::field;

/// Limits of a head, in bytes except for `fields`.
struct head_limits {
    /// The whole head, with the empty line that ends it. Default 64 KiB.
    std::uint32_t total = 65536;
    /// The most field lines. Default 100.
    std::uint32_t fields = 100;
    /// The request line or status line without its CRLF. Default 8 KiB.
    std::uint32_t request_line = 8192;
    /// One field line without its CRLF. Default 16 KiB.
    std::uint32_t field = 16384;
};

/// The framing of the body after a head (RFC 9112 section 6.3).
enum class body_framing : std::uint8_t {
    none,         ///< there is no body
    length,       ///< `content_length` bytes, at least one
    chunked,      ///< the chunked coding
    until_close,  ///< all bytes up to the end of the connection; responses only
};

/// The four forms of a request target (RFC 9112 section 3.2).
enum class target_form : std::uint8_t { origin, absolute, authority, asterisk };

/// The parts that both heads have.
struct message_head {
    http::version version = http::version::http_1_1;
    body_framing framing = body_framing::none;
    /// The value of Content-Length; 0 without that field. In a response to HEAD and in a 304 it is
    /// the length of the content that was not sent.
    std::uint64_t content_length = 0;
    bool has_content_length = false;
    /// True if the connection can carry another message after this one, by the sender's fields.
    bool keep_alive = true;
    /// Connection names "upgrade" and an Upgrade field is there; never on HTTP/1.0.
    bool upgrade = false;
    /// The field lines in the order received. Cleared, not freed, by the next parse.
    std::vector<head_field> fields;
};

/// The head of a request. The views are into the bytes that were parsed, but for `path` where
/// the target has none: then it is a literal.
struct request_head : message_head {
    http::method method = http::method::other;
    std::string_view method_text;
    std::string_view target;  ///< as received
    target_form form = target_form::origin;
    std::string_view scheme;  ///< of an absolute-form target; else empty
    /// The path of the target, still percent-encoded: "/" where an absolute form has none ("*" for
    /// OPTIONS), "*" in asterisk form, empty in authority form.
    std::string_view path;
    std::string_view query;  ///< what follows "?", still percent-encoded; without the "?"
    bool has_query = false;  ///< distinguishes "/a?" from "/a"
    /// The requested host, host[:port]: the authority of an absolute-form or authority-form target,
    /// else the Host field (RFC 9112 section 3.2.2). Empty when there is neither.
    std::string_view host;
    /// Expect: 100-continue on HTTP/1.1, and a body follows.
    bool expect_continue = false;
};

/// The head of a response.
struct response_head : message_head {
    std::uint16_t code = 0;   ///< 100 to 999
    std::string_view reason;  ///< may be empty
};

enum class parse_status : std::uint8_t { need_more, complete, error };

struct parse_result {
    parse_status status = parse_status::need_more;
    parse_error error = parse_error::none;
    /// The size of the head, once complete; else 0.
    std::size_t consumed = 0;
};

/// Moves the views of `head`, which was parsed from the `size` bytes at `from`, to the copy of
/// these bytes at `to`; a literal path stays. `from` may already be gone. A view that is null is
/// left alone.
void rebase(request_head& head, const char* from, std::size_t size, const char* to) noexcept;
void rebase(response_head& head, const char* from, std::size_t size, const char* to) noexcept;

}  // namespace coracle::http::h1
