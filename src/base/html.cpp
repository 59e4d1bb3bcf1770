#include "base/utf8.hpp"

#include <coracle/base/html.hpp>

namespace coracle {
namespace {

/// C0 and C1 (U+0080 to U+009F) but for white space, and DEL.
bool is_control(std::string_view character) noexcept {
    const auto first = static_cast<unsigned char>(character.front());
    if (first == '\t' || first == '\n' || first == '\r') return false;
    return first < 0x20 || first == 0x7f ||
           (first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0);
}

std::string_view reference(char c) noexcept {
    switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\'': return "&#39;";
        default: return {};
    }
}

}  // namespace

std::string html_escape(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const std::size_t size = detail::utf8_sequence(text);
        const std::string_view character = text.substr(0, size);
        const std::string_view named = reference(text.front());
        if (size == 0 || is_control(character))
            out += "\xef\xbf\xbd";
        else
            out += named.empty() ? character : named;
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return out;
}

}  // namespace coracle
