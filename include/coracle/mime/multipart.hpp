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

/// Limits of a multipart body.
struct multipart_limits {
    std::size_t header_bytes = 16 * 1024;  ///< of the fields of one part, with their line ends
    std::size_t fields = 32;               ///< of one part
    std::size_t parts = 1000;
    std::size_t boundary = 70;  ///< bytes of the boundary (RFC 2046 section 5.1.1)
};

/// The faults of a multipart body.
enum class multipart_error {
    none,
    invalid_boundary,     ///< empty, too long, ends with a space, or not visible ASCII
    malformed_delimiter,  ///< something other than blanks between a boundary and the end of its
                          ///< line
    malformed_field,      ///< a line of a part's header is not a field
    header_too_large,     ///< `multipart_limits::header_bytes`
    too_many_fields,      ///< `multipart_limits::fields`
    too_many_parts,       ///< `multipart_limits::parts`
    truncated,            ///< the body ended before the last boundary
};

const std::error_category& multipart_category() noexcept;
std::error_code make_error_code(multipart_error e) noexcept;
/// Returns true if the body exceeds a limit of ours, and is not malformed.
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

/// Returns the value of the first field of this name, compared without case; empty when there is
/// none.
[[nodiscard]] std::string_view find_field(std::span<const part_field> fields,
                                          std::string_view name) noexcept;

/// The next thing that `multipart_parser` found.
struct multipart_event {
    enum class kind : std::uint8_t {
        need_more,   ///< all of the input was consumed
        part_begin,  ///< `fields()` has those of the part
        data,        ///< bytes of the part, at least one
        part_end,
        end,  ///< the line of the last boundary: no part follows
        error,
    };

    kind what = kind::need_more;
    std::size_t consumed = 0;  ///< bytes of the input; may be 0 but for `need_more`
    /// Valid until the next call and as long as the input.
    std::string_view data = {};
    multipart_error error = multipart_error::none;
};

/// Parses a multipart body (RFC 2046 section 5.1, RFC 7578) that arrives in pieces of any size, and
/// keeps at most the header of one part in memory. Does no input or output, so it serves forms and
/// mail alike. A multipart within a part needs another parser.
///
/// Accepts a preamble, an epilogue, blanks after a boundary, folded fields, and a body without
/// parts. Lines end with CRLF. A line that begins with the boundary and is not a delimiter makes
/// the body malformed, so that no other parser can read it differently. A body may end with its
/// last boundary: without a line end after it there is no `end`, and `finish` says that the body
/// was complete.
///
/// Takes time linear in the size of any input. After `end` or `error` every call returns that
/// again.
class multipart_parser {
public:
    /// `boundary` is copied; an invalid one is the first event.
    explicit multipart_parser(std::string_view boundary, const multipart_limits& limits = {});

    /// Returns the next event in `in`. Call it until it returns `need_more`, each time without the
    /// bytes that were consumed.
    multipart_event parse(std::string_view in);
    /// To be called at the end of the body: returns `none` if it was complete.
    [[nodiscard]] multipart_error finish() const noexcept;

    /// Returns the fields of the current part; valid until the next one begins.
    std::span<const part_field> fields() const noexcept { return fields_; }
    /// Returns the number of parts that have begun.
    std::size_t parts() const noexcept { return parts_; }
    /// For tests: the number of bytes that the search for a boundary examined, at most twice the
    /// input. A run without CR counts once.
    std::uint64_t examined() const noexcept { return examined_; }

private:
    enum class state : std::uint8_t {
        body,         // preamble or data
        after_token,  // after a boundary
        dash,         // after a boundary and "-"
        padding,
        line_feed,     // after the CR that ends the delimiter
        last_padding,  // after the last boundary: the body may end
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
    std::size_t matched_ = 0;   // bytes of the delimiter that are held back
    std::size_t not_held_ = 0;  // of these, bytes of a line end that is not data
    std::size_t parts_ = 0;
    std::uint64_t examined_ = 0;
    std::string header_;  // complete lines, unfolded, and the one that has begun
    std::size_t line_begin_ = 0;
    std::size_t unfolded_ = 0;  // bytes of line ends that were removed
    std::vector<part_field> fields_;
    std::size_t field_count_ = 0;
};

}  // namespace coracle::mime

template <>
struct std::is_error_code_enum<coracle::mime::multipart_error> : std::true_type {};
