#pragma once

#include <coracle/http/h1/head.hpp>
#include <coracle/http/h1/head_parser.hpp>

#include <cstddef>
#include <string_view>

namespace coracle::http::h1 {

class field_summary;

/// The extent of a line and of the bytes seen of it, for the limits.
struct line_extent {
    std::size_t line = 0;     ///< where the line begins
    std::size_t content = 0;  ///< where its content ends, as far as seen; CR and LF are not content
    std::size_t seen = 0;     ///< where the bytes seen so far end
};

/// `line_error` or head_too_large when one of these limits is exceeded, whichever is first in the
/// order of the bytes; else `otherwise`. So a verdict is the same however the bytes were cut.
[[nodiscard]] constexpr parse_error over_limit(const line_extent& extent, std::size_t line_limit,
                                               std::size_t total_limit, parse_error line_error,
                                               parse_error otherwise) noexcept {
    const bool over_line = extent.content - extent.line > line_limit;
    const bool over_total = extent.seen > total_limit;
    if (over_line && (!over_total || extent.line + line_limit <= total_limit)) {
        return line_error;
    }
    return over_total ? parse_error::head_too_large : otherwise;
}

/// Checks field lines (RFC 9112 section 5) from where `at` stands up to the empty line that ends
/// them. When `summary` is given, which must be from the first field line on, each one is added to
/// it, and on `complete` they are identified. `consumed` then counts from the beginning of `bytes`.
template <class Kernel>
parse_result scan_fields(std::string_view bytes, head_progress& at, const head_limits& limits,
                         field_summary* summary);

}  // namespace coracle::http::h1
