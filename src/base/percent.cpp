#include "base/ascii.hpp"

#include <coracle/base/percent.hpp>

namespace coracle {

namespace {

bool is_kept(char byte, percent_set keep) noexcept {
    if (detail::is_unreserved(byte)) {
        return true;
    }
    if (keep == percent_set::component) {
        return false;
    }
    return byte == '/' || byte == ':' || byte == '@' ||
           detail::sub_delimiters.find(byte) != std::string_view::npos ||
           (keep == percent_set::query && byte == '?');
}

// `plus` is what "+" becomes.
std::optional<std::size_t> decode(char* out, std::string_view text, char plus) noexcept {
    std::size_t size = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char byte = text[at];
        if (byte == '%') {
            if (text.size() - at < 3) {
                return std::nullopt;
            }
            const int high = coracle::detail::hex_value(text[at + 1]);
            const int low = coracle::detail::hex_value(text[at + 2]);
            if (high < 0 || low < 0) {
                return std::nullopt;
            }
            byte = static_cast<char>(high << 4 | low);
            at += 2;
        } else if (byte == '+') {
            byte = plus;
        }
        out[size++] = byte;
    }
    return size;
}

std::optional<std::string> decode_string(std::string_view text, char plus) {
    std::string result(text.size(), '\0');
    const auto size = decode(result.data(), text, plus);
    if (!size) {
        return std::nullopt;
    }
    result.resize(*size);
    return result;
}

}  // namespace

std::string percent_encode(std::string_view text, percent_set keep) {
    constexpr std::string_view hex = "0123456789ABCDEF";
    std::string result;
    result.reserve(text.size());
    for (const char byte : text) {
        if (is_kept(byte, keep)) {
            result.push_back(byte);
            continue;
        }
        const auto value = static_cast<unsigned char>(byte);
        result.push_back('%');
        result.push_back(hex[value >> 4]);
        result.push_back(hex[value & 15U]);
    }
    return result;
}

std::optional<std::string> percent_decode(std::string_view text) {
    return decode_string(text, '+');
}

std::optional<std::string> form_decode(std::string_view text) {
    return decode_string(text, ' ');
}

std::optional<std::size_t> percent_decode_to(char* out, std::string_view text) noexcept {
    return decode(out, text, '+');
}

}  // namespace coracle
