#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::detail {

/// Reads JSON (RFC 8259) piece by piece, strictly: no comments, no trailing commas, no bytes that
/// are no UTF-8. The caller requests the piece that it expects; anything else is not consumed.
/// Whitespace in front of a piece is left out.
class json_scanner {
public:
    /// `text` outlives it.
    explicit json_scanner(std::string_view text) noexcept : text_(text) {}

    /// Returns the first byte of the next piece; NUL at the end.
    char peek() noexcept;
    /// Consumes one of {}[]:, if it is next.
    bool take(char structural) noexcept;
    /// Appends a string with its escapes decoded. Returns false if there is none; then `out` is
    /// unspecified.
    bool take_string(std::string& out);
    /// Returns a number as it is written, or one of true, false and null; nothing if there is
    /// neither.
    std::string_view take_scalar() noexcept;
    /// Returns the offset of the next token in bytes, for errors.
    std::size_t position() const noexcept { return at_; }

private:
    bool take_escape(std::string& out);
    bool take_unit(unsigned& unit) noexcept;
    std::size_t number_size() const noexcept;

    std::string_view text_;
    std::size_t at_ = 0;
};

}  // namespace coracle::detail
