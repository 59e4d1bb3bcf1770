#include "base/json_text.hpp"

#include "base/plain_prefix.hpp"
#include "base/utf8.hpp"

namespace coracle::detail {
namespace {

void append_escape(std::string& out, unsigned char byte) {
    constexpr std::string_view hexadecimal = "0123456789abcdef";
    out += "\\u00";
    out += hexadecimal[byte >> 4];
    out += hexadecimal[byte & 15];
}

void append_character(std::string& out, std::string_view sequence) {
    const auto first = static_cast<unsigned char>(sequence.front());
    if (first == '"' || first == '\\')
        (out += '\\') += sequence;
    else if (first < 0x20 || first == 0x7f)
        append_escape(out, first);
    // U+0080 to U+009F
    else if (first == 0xc2 && static_cast<unsigned char>(sequence[1]) < 0xa0)
        append_escape(out, static_cast<unsigned char>(sequence[1]));
    else
        out += sequence;
}

}  // namespace

void append_json_text(std::string& out, std::string_view text) {
    out += '"';
    for (;;) {
        const std::size_t plain = plain_prefix(text);
        out += text.substr(0, plain);
        text.remove_prefix(plain);
        if (text.empty()) break;
        const std::size_t size = utf8_sequence(text);
        if (size == 0)
            out += "\\ufffd";
        else
            append_character(out, text.substr(0, size));
        text.remove_prefix(size == 0 ? 1 : size);
    }
    out += '"';
}

}  // namespace coracle::detail
