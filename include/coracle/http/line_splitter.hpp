#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::http {

/// Cuts a text that comes in pieces of any size into its lines, which LF or CRLF ends. Copies only
/// what a line has in more than one piece. Without input or output of its own; not thread-safe.
class line_splitter {
public:
    /// Bytes of a line, without its end.
    static constexpr std::size_t default_limit = 256 * 1024;

    enum class status : std::uint8_t {
        need_more,       ///< all was consumed
        line,            ///< `line()` has the next one
        limit_exceeded,  ///< a line is longer than the limit; for good
    };
    struct result {
        status what = status::need_more;
        std::size_t consumed = 0;
    };

    explicit line_splitter(std::size_t limit = default_limit) noexcept
        : limit_(limit != SIZE_MAX ? limit : SIZE_MAX - 1) {}  // a CR counts beyond it

    /// Reads up to the end of the next line.
    result parse(std::string_view in);
    /// Ends the text: `line` when there are bytes after the last line end.
    status finish() noexcept;

    /// The line without its end. Valid until the next call, for as long as the bytes given to
    /// `parse`.
    std::string_view line() const noexcept { return line_; }

private:
    bool keep(std::string_view piece);

    std::size_t limit_;
    std::string kept_;  // of a line whose end has not come
    std::string_view line_;
    bool line_is_kept_ = false;
    bool failed_ = false;
};

}  // namespace coracle::http
