#include "mime/base64_digits.hpp"

#include <coracle/mime/base64.hpp>

#include <utility>

namespace coracle::mime {
namespace {

using detail::no_base64_digit;
constexpr auto url_values = detail::base64_values_of(detail::base64url_digits);

// Collects digits of six bits and returns bytes of eight.
class joiner {
public:
    explicit joiner(std::size_t digits) { bytes_.reserve(digits / 4 * 3 + 2); }
    void add(std::uint8_t digit) {
        bits_ = bits_ << 6 | digit;
        if (++digits_ != 4) return;
        bytes_ += static_cast<char>(bits_ >> 16);
        bytes_ += static_cast<char>(bits_ >> 8 & 0xff);
        bytes_ += static_cast<char>(bits_ & 0xff);
        bits_ = 0;
        digits_ = 0;
    }
    /// Digits of an incomplete group of four: 0 to 3.
    unsigned left() const noexcept { return digits_; }
    /// The bits of these that belong to no byte.
    std::uint32_t unused() const noexcept {
        return digits_ == 2 ? bits_ & 0xf : digits_ == 3 ? bits_ & 0x3 : 0;
    }
    std::string finish() {
        if (digits_ == 2) bytes_ += static_cast<char>(bits_ >> 4 & 0xff);
        if (digits_ == 3) {
            bytes_ += static_cast<char>(bits_ >> 10 & 0xff);
            bytes_ += static_cast<char>(bits_ >> 2 & 0xff);
        }
        return std::move(bytes_);
    }

private:
    std::string bytes_;
    std::uint32_t bits_ = 0;
    unsigned digits_ = 0;
};

}  // namespace

std::string base64_encode(std::string_view bytes, base64_alphabet alphabet, std::size_t line) {
    const bool padded = alphabet == base64_alphabet::standard;
    const std::string_view digits = padded ? detail::base64_digits : detail::base64url_digits;
    const auto byte = [&](std::size_t i) {
        return i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0U;
    };
    std::string out;
    const std::size_t size = (bytes.size() + 2) / 3 * 4;
    out.reserve(size + (line == 0 ? 0 : size / line * 2));
    std::size_t column = 0;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        if (line != 0 && column >= line) {
            out += "\r\n";
            column = 0;
        }
        const std::uint32_t bits = byte(at) << 16 | byte(at + 1) << 8 | byte(at + 2);
        const std::size_t left = bytes.size() - at;
        out += digits[bits >> 18];
        out += digits[bits >> 12 & 63U];
        if (left > 1) out += digits[bits >> 6 & 63U];
        if (left > 2) out += digits[bits & 63U];
        if (padded && left < 3) out.append(3 - left, '=');
        column += 4;
    }
    return out;
}

std::optional<std::string> base64_decode(std::string_view text, base64_alphabet alphabet) {
    const bool padded = alphabet == base64_alphabet::standard;
    const auto& values = padded ? detail::base64_values : url_values;
    if (padded) {
        if (text.size() % 4 != 0) return std::nullopt;
        if (text.ends_with('=')) text.remove_suffix(text.ends_with("==") ? 2 : 1);
    }
    joiner joined(text.size());
    for (const char c : text) {
        const std::uint8_t digit = values[static_cast<unsigned char>(c)];
        if (digit == no_base64_digit) return std::nullopt;
        joined.add(digit);
    }
    if (joined.left() == 1 || joined.unused() != 0) return std::nullopt;
    return joined.finish();
}

std::optional<std::string> base64_decode_lenient(std::string_view text) {
    joiner joined(text.size());
    for (const char c : text) {
        if (c == '=') break;
        const std::uint8_t digit = detail::base64_value(c);
        if (digit != no_base64_digit) joined.add(digit);
    }
    if (joined.left() == 1) return std::nullopt;
    return joined.finish();
}

}  // namespace coracle::mime
