#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::detail {

/// Reads JSON (RFC 8259) piece by piece, strictly: no comments, no trailing commas, no bytes that
/// are no UTF-8. The reader asks for what it expects; what is there instead stays where it is.
/// Whitespace in front of a piece is left out.
class json_scanner {
public:
    /// `text` outlives it.
    explicit json_scanner(std::string_view text) noexcept : text_(text) {}

    /// The byte that the next piece begins with; NUL at the end.
    char peek() noexcept;
    /// One of {}[]:, if it is next.
    bool take(char structural) noexcept;
    /// Appends a string without its escapes. False: there is none, and `out` holds rubbish.
    bool take_string(std::string& out);
    /// A number, as it is written, or one of true, false and null; nothing when there is neither.
    std::string_view take_scalar() noexcept;
    /// Where the next piece begins, in bytes, for messages.
    std::size_t position() const noexcept { return at_; }

private:
    bool take_escape(std::string& out);
    bool take_unit(unsigned& unit) noexcept;
    std::size_t number_size() const noexcept;

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace coracle::detail
