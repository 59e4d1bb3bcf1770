#pragma once

#include <coracle/base/error.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// What a multipart body may hold.
struct multipart_limits {
    std::size_t header_bytes = 16 * 1024;  ///< of the fields of one part, with their line ends
    std::size_t fields = 32;               ///< of one part
    std::size_t parts = 1000;
    std::size_t boundary = 70;  ///< bytes of the boundary (RFC 2046 section 5.1.1)
};

/// What makes a multipart body malformed, or too much.
enum class multipart_error {
    none,
    invalid_boundary,     ///< empty, too long, ends with a space, or not visible ASCII
    malformed_delimiter,  ///< something else than blanks between a boundary and its line's end
    malformed_field,      ///< a line of a part's header that is no field
    header_too_large,     ///< `multipart_limits::header_bytes`
    too_many_fields,      ///< `multipart_limits::fields`
    too_many_parts,       ///< `multipart_limits::parts`
    truncated,            ///< the body ended before the last boundary
};

const std::error_category& multipart_category() noexcept;
std::error_code make_error_code(multipart_error e) noexcept;
/// Whether it is one of ours to allow: a limit, and not a fault of the sender.
[[nodiscard]] constexpr bool is_limit(multipart_error e) noexcept {
    return e == multipart_error::header_too_large || e == multipart_error::too_many_fields ||
           e == multipart_error::too_many_parts;
}

/// A field of a part.
struct part_field {
    std::string_view name;
    std::string_view value;

    friend bool operator==(const part_field&, const part_field&) = default;
};

/// The value of the first field of this name, compared without case; empty when there is none.
[[nodiscard]] std::string_view find_field(std::span<const part_field> fields,
                                          std::string_view name) noexcept;

/// What `multipart_parser` found next.
struct multipart_event {
    enum class kind : std::uint8_t {
        need_more,   ///< all was consumed
        part_begin,  ///< `fields()` has those of the part
        data,        ///< bytes of the part, at least one
        part_end,
        end,  ///< the line of the last boundary: what follows it is no part
        error,
    };

    kind what = kind::need_more;
    std::size_t consumed = 0;  ///< bytes of the input; may be 0 but for `need_more`
    /// Valid until the next call and as long as the input.
    std::string_view data = {};
    multipart_error error = multipart_error::none;
};

/// Reads a multipart body (RFC 2046 section 5.1, RFC 7578) that comes in pieces of any size, and
/// holds no more of it than the header of one part. Without input or output of its own: for forms
/// and mail alike; what is nested in a part is read by a parser of its own.
///
/// A preamble, an epilogue, blanks behind a boundary, folded fields and no parts at all are
/// accepted. Lines end with CRLF. A line that begins with the boundary and is no delimiter makes
/// the body malformed, so that nobody can read it in another way than we do. A body may end with
/// its last boundary: without a line end behind it there is no `end`, and `finish` tells that it
/// was whole.
///
/// Linear in the size of the input, whatever it is. After `end` and `error` it stays there.
class multipart_parser {
public:
    /// `boundary` is copied; an invalid one is the first event.
    explicit multipart_parser(std::string_view boundary, const multipart_limits& limits = {});

    /// The next event in `in`: call it until it gives `need_more`, each time without the bytes that
    /// were consumed.
    multipart_event parse(std::string_view in);
    /// The body has ended: whether it was whole.
    [[nodiscard]] multipart_error finish() const noexcept;

    /// Of the part that has begun; valid until the next one begins.
    std::span<const part_field> fields() const noexcept { return fields_; }
    /// Parts that have begun.
    std::size_t parts() const noexcept { return parts_; }
    /// How often a byte of data was looked at in search of a boundary, a whole run that has no CR
    /// counting for its bytes once. For tests: at most twice the input.
    std::uint64_t examined() const noexcept { return examined_; }

private:
    enum class state : std::uint8_t {
        body,         // preamble or data
        after_token,  // behind a boundary
        dash,         // behind a boundary and "-"
        padding,
        line_feed,     // behind the CR that ends the delimiter
        last_padding,  // behind the last boundary: the body may end
        last_line_feed,
        header,
        ended,
        failed,
    };

    multipart_event fail(multipart_error e, std::size_t consumed = 0) noexcept;
    multipart_event step(std::string_view in);
    multipart_event step_body(std::string_view in);
    multipart_event step_delimiter(std::string_view in) noexcept;
    state behind(char c) const noexcept;
    multipart_event step_header(std::string_view in);
    multipart_event begin_part(std::size_t consumed);
    std::size_t match(std::string_view in) noexcept;
    std::size_t find_cr(std::string_view in, std::size_t from) noexcept;
    std::string_view give_up_match() noexcept;
    bool part_end_is_due() const noexcept { return in_part_ && state_ == state::after_token; }
    bool header_is_too_large() const noexcept;
    multipart_error end_line(std::string_view line);
    void next_header() noexcept;
    void index_fields();

    std::string delimiter_;  // CRLF "--" boundary
    multipart_limits limits_;
    state state_ = state::body;
    bool in_part_ = false;
    multipart_error error_ = multipart_error::none;
    std::size_t matched_ = 0;   // bytes of the delimiter that have been held back
    std::size_t not_held_ = 0;  // of these, those of a line end that is no data
    std::size_t parts_ = 0;
    std::uint64_t examined_ = 0;
    std::string header_;  // its whole lines, unfolded, and the one that has begun
    std::size_t line_begin_ = 0;
    std::size_t unfolded_ = 0;  // bytes of line ends that were removed
    std::vector<part_field> fields_;
    std::size_t field_count_ = 0;
};

}  // namespace coracle::mime

template <>
struct std::is_error_code_enum<coracle::mime::multipart_error> : std::true_type {};
