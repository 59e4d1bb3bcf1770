#pragma once

#include <cstdint>
#include <string_view>

namespace coracle::websocket::detail {

/// Checks that a text which arrives in pieces is UTF-8 (RFC 3629), byte by byte: a piece may end
/// within a character, and an invalid character is refused at its first wrong byte.
class utf8_validator {
public:
    /// Checks a piece. Returns false if the text cannot be UTF-8, whatever follows.
    bool take(std::string_view piece) noexcept;
    /// Returns whether the text may end here.
    bool complete() const noexcept { return left_ == 0; }
    void reset() noexcept { left_ = 0; }

private:
    bool begin(unsigned char first) noexcept;

    std::uint8_t left_ = 0;  ///< bytes that are missing of a character
    // Between these is the next one.
    std::uint8_t low_ = 0x80;
    std::uint8_t high_ = 0xbf;
};

/// Returns whether all of `text` is UTF-8.
bool is_utf8(std::string_view text) noexcept;

}  // namespace coracle::websocket::detail
