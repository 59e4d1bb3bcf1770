#include "message_text.hpp"

#include "json_layout.hpp"

#include <coracle/base/printable.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>

namespace coracle::tool {
namespace {

constexpr std::size_t bytes_of_line = 16;

/// A terminal obeys control characters: each but the ends of lines and tabs is shown as "?".
std::string for_terminal(std::string_view text) {
    std::string clean;
    while (!text.empty()) {
        const bool is_space = text.front() == '\n' || text.front() == '\t';
        const std::size_t n = is_space ? 1 : printable_character_size(text);
        clean += n == 0 ? "?" : text.substr(0, n);
        text.remove_prefix(std::max<std::size_t>(n, 1));
    }
    return clean;
}

std::string hex_line(std::size_t offset, std::string_view bytes) {
    std::array<char, 2 * sizeof offset + 2> number;
    std::snprintf(number.data(), number.size(), "%08zx ", offset);
    std::string line = number.data();
    std::string ascii;
    for (std::size_t i = 0; i != bytes_of_line; ++i) {
        if (i == bytes_of_line / 2) line += ' ';
        if (i >= bytes.size()) {
            line += "   ";
            continue;
        }
        const auto byte = static_cast<unsigned char>(bytes[i]);
        std::snprintf(number.data(), number.size(), " %02x", unsigned{byte});
        line += number.data();
        ascii += byte >= 0x20 && byte < 0x7f ? bytes[i] : '.';
    }
    return line + "  |" + ascii + "|\n";
}

}  // namespace

std::string text_to_show(std::string_view text, const message_style& style) {
    const std::string clean = style.terminal ? for_terminal(text) : std::string(text);
    if (style.json) {
        // Characters that were replaced are no JSON, or escaped there.
        if (auto laid_out = lay_out_json(clean, style.colours)) return *laid_out + '\n';
    }
    return clean + '\n';
}

std::string binary_to_show(std::string_view bytes, const message_style& style) {
    if (style.raw_binary) return std::string(bytes);
    std::string all;
    for (std::size_t at = 0; at < bytes.size(); at += bytes_of_line) {
        all += hex_line(at, bytes.substr(at, bytes_of_line));
    }
    return bytes.empty() ? "\n" : all;
}

bool is_utf8_text(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto first = static_cast<unsigned char>(text.front());
        std::size_t n = 1;
        if (first >= 0x80) {
            // Control characters from U+0080 on are UTF-8, too.
            const bool is_control = first == 0xC2 && text.size() > 1 &&
                                    static_cast<unsigned char>(text[1]) >= 0x80 &&
                                    static_cast<unsigned char>(text[1]) < 0xA0;
            n = is_control ? 2 : printable_character_size(text);
        }
        if (n == 0) return false;
        text.remove_prefix(n);
    }
    return true;
}

}  // namespace coracle::tool
