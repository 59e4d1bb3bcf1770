#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::http::h2::hpack {

/// Returns the size of `text` in the Huffman code of HPACK (RFC 7541 section 5.2), in bytes.
[[nodiscard]] std::size_t huffman_size(std::string_view text) noexcept;

/// Writes `text` in that code to `out`, which has room for `huffman_size(text)` bytes. Returns the
/// end of what was written.
char* huffman_encode(char* out, std::string_view text) noexcept;

/// Decodes one text, which may arrive in pieces.
class huffman_decoder {
public:
    /// Returns the most bytes that a piece of `size` bytes becomes: the shortest code has 5 bits,
    /// and up to 29 bits were left of what came before.
    static constexpr std::size_t room_for(std::size_t size) noexcept {
        return (size * 8 + 29) / 5 + 1;
    }

    void begin() noexcept { count_ = 0; }

    /// Decodes a piece to `out`, which has as much room. Returns the end of what was written, or
    /// null where the text holds the code that may not occur (EOS).
    char* decode(std::string_view piece, char* out) noexcept;

    /// To be called behind the last piece. Returns false if the padding is not the begin of EOS, or
    /// is longer than 7 bits.
    [[nodiscard]] bool ends_well() const noexcept;

private:
    std::uint64_t bits_ = 0;  ///< those not decoded yet, from the highest on; the rest is 0
    unsigned count_ = 0;
};

}  // namespace coracle::http::h2::hpack
