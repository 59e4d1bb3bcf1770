#include "json_object.hpp"

#include <coracle/base/printable.hpp>

#include <cstdio>

namespace coracle::tool {
namespace {

void append_escape(std::string& out, unsigned c) {
    char text[8];
    std::snprintf(text, sizeof text, "\\u%04x", c);
    out += text;
}

}  // namespace

std::string json_text(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const auto c = static_cast<unsigned char>(text.front());
        std::size_t size = printable_character_size(text);
        if (size == 0) {
            size = 1;
            const bool is_control = c < 0x20 || c == 0x7f;
            if (is_control) append_escape(out, c);
            if (!is_control) out += "\xef\xbf\xbd";
        } else {
            if (c == '"' || c == '\\') out += '\\';
            out += text.substr(0, size);
        }
        text.remove_prefix(size);
    }
    return out += '"';
}

}  // namespace coracle::tool
