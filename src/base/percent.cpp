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

// Returns the byte that "%XX" at the begin of `text` stands for; nothing where it is none.
std::optional<char> escaped(std::string_view text) noexcept {
    if (text.size() < 3) {
        return std::nullopt;
    }
    const int high = coracle::detail::hex_value(text[1]);
    const int low = coracle::detail::hex_value(text[2]);
    if (high < 0 || low < 0) {
        return std::nullopt;
    }
    return static_cast<char>(high << 4 | low);
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
    std::string result;
    result.reserve(text.size());
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (text[at] != '%') {
            result.push_back(text[at]);
            continue;
        }
        const auto byte = escaped(text.substr(at));
        if (!byte) {
            return std::nullopt;
        }
        result.push_back(*byte);
        at += 2;
    }
    return result;
}

std::string form_decode(std::string_view text) {
    std::string result(text.size(), '\0');
    result.resize(form_decode_to(result.data(), text));
    return result;
}

std::size_t form_decode_to(char* out, std::string_view text) noexcept {
    std::size_t size = 0;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char byte = text[at] == '+' ? ' ' : text[at];
        if (byte == '%') {
            if (const auto decoded = escaped(text.substr(at))) {
                byte = *decoded;
                at += 2;
            }
        }
        out[size++] = byte;
    }
    return size;
}

}  // namespace coracle
