#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "mime/parameters.hpp"
#include "mime/text.hpp"

#include <coracle/mime/base64.hpp>
#include <coracle/mime/encoded_word.hpp>

#include <algorithm>
#include <optional>

namespace coracle::mime {
namespace {

constexpr std::string_view opening = "=?utf-8?";
constexpr std::size_t longest_word = 75;    // RFC 2047 section 2
constexpr std::size_t longest_line = 76;    // a line with an encoded word
constexpr std::size_t longest_plain = 900;  // words of ASCII that cannot be folded
constexpr std::string_view hex = "0123456789ABCDEF";

// The bytes that stay unencoded within a phrase, the strictest context (RFC 2047 section 5 (3)).
bool is_plain_in_q(char c) noexcept {
    return coracle::detail::is_letter(c) || coracle::detail::is_digit(c) || c == '!' || c == '*' ||
           c == '+' || c == '-' || c == '/';
}

std::size_t q_size(std::string_view text) noexcept {
    std::size_t size = 0;
    for (const char c : text)
        size += is_plain_in_q(c) || c == ' ' ? std::size_t{1} : std::size_t{3};
    return size;
}

std::size_t b_size(std::size_t bytes) noexcept {
    return (bytes + 2) / 3 * 4;
}

void append_q(std::string& out, std::string_view text) {
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == ' ') {
            out += '_';
        } else if (is_plain_in_q(c)) {
            out += c;
        } else {
            out += '=';
            out += hex[byte >> 4];
            out += hex[byte & 15U];
        }
    }
}

// Returns the size of the first UTF-8 character, or 1 for an invalid byte.
std::size_t character(std::string_view text) noexcept {
    return std::max<std::size_t>(coracle::detail::utf8_sequence(text), 1);
}

// Returns the longest prefix that fits an encoded word of `capacity` characters; at least one
// character.
std::size_t fitting(std::string_view text, bool q, std::size_t capacity) noexcept {
    const std::size_t around = opening.size() + 2 + 2;
    const std::size_t inside = capacity > around ? capacity - around : 0;
    std::size_t size = 0;
    while (size != text.size()) {
        const std::size_t more = size + character(text.substr(size));
        const std::size_t taken = q ? q_size(text.substr(0, more)) : b_size(more);
        if (taken > inside && size != 0) break;
        if (taken > inside) return more;
        size = more;
    }
    return size;
}

void append_words(std::string& out, std::string_view text, std::size_t column) {
    const bool q = q_size(text) <= b_size(text.size());
    // A first word that would begin late in the line gets its own line.
    std::size_t capacity = column + 20 < longest_line ? longest_line - column : longest_word;
    capacity = std::min(capacity, longest_word);
    while (!text.empty()) {
        const std::size_t size = fitting(text, q, capacity);
        out += opening;
        out += q ? "q?" : "b?";
        if (q)
            append_q(out, text.substr(0, size));
        else
            out += base64_encode(text.substr(0, size));
        out += "?=";
        text.remove_prefix(size);
        if (!text.empty()) out += ' ';
        capacity = longest_word;
    }
}

bool needs_encoding(std::string_view word) noexcept {
    return word.size() > longest_plain || word.find("=?") != std::string_view::npos ||
           std::ranges::any_of(word, [](char c) {
               const auto byte = static_cast<unsigned char>(c);
               return byte < 0x20 || byte >= 0x7f;
           });
}

struct span {
    std::size_t begin = std::string_view::npos;
    std::size_t end = 0;
};

// Returns the range from the first word that must be encoded to the end of the last one. A blank at
// either end is encoded with the word beside it: an encoded word stands apart (RFC 2047 section 5).
span to_encode(std::string_view text) noexcept {
    span found;
    for (std::size_t at = 0; at <= text.size();) {
        const std::size_t end = std::min(text.find(' ', at), text.size());
        if (needs_encoding(text.substr(at, end - at))) {
            found.begin = std::min(found.begin, at);
            found.end = end;
        }
        at = end + 1;
    }
    if (text.starts_with(' ')) {
        const std::size_t first = std::min(text.find_first_not_of(' '), text.size());
        found.begin = 0;
        found.end = std::max(found.end, std::min(text.find(' ', first), text.size()));
    }
    if (text.ends_with(' ')) {
        const std::size_t last = text.find_last_not_of(' ');
        const std::size_t before =
            last == std::string_view::npos ? std::string_view::npos : text.rfind(' ', last);
        found.begin = std::min(found.begin, before == std::string_view::npos ? 0 : before + 1);
        found.end = text.size();
    }
    return found;
}

std::optional<std::string> decode_q(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at != text.size(); ++at) {
        const char c = text[at];
        if (c == '=') {
            const int high = text.size() - at > 2 ? coracle::detail::hex_value(text[at + 1]) : -1;
            const int low = high >= 0 ? coracle::detail::hex_value(text[at + 2]) : -1;
            if (low < 0) return std::nullopt;
            out += static_cast<char>(high << 4 | low);
            at += 2;
        } else {
            out += c == '_' ? ' ' : c;
        }
    }
    return out;
}

enum class charset : std::uint8_t { utf8, latin, unknown };

charset charset_of(std::string_view name) noexcept {
    name = name.substr(0, name.find('*'));  // RFC 2231 section 5: a language
    if (detail::equal_ignoring_case(name, "utf-8") || detail::equal_ignoring_case(name, "utf8") ||
        detail::equal_ignoring_case(name, "us-ascii")) {
        return charset::utf8;
    }
    const bool latin = detail::equal_ignoring_case(name, "iso-8859-1") ||
                       detail::equal_ignoring_case(name, "latin1");
    return latin ? charset::latin : charset::unknown;
}

struct word {
    std::string bytes;
    charset in = charset::unknown;
    std::size_t size = 0;  ///< size of the encoded word
};

// Parses the encoded word at the beginning of `text`.
std::optional<word> read_word(std::string_view text) {
    const std::size_t name_end = text.find('?', 2);
    if (name_end == std::string_view::npos || text.size() - name_end < 5) return std::nullopt;
    if (text[name_end + 2] != '?') return std::nullopt;
    const std::size_t begin = name_end + 3;
    // No further: a text of "=?a?q?" again and again would be read to its end for each.
    const std::size_t end = text.find_first_of("? \t\r\n", begin);
    if (end == std::string_view::npos || !text.substr(end).starts_with("?=")) return std::nullopt;
    const std::string_view inside = text.substr(begin, end - begin);
    word w;
    w.in = charset_of(text.substr(2, name_end - 2));
    w.size = end + 2;
    const char kind = coracle::detail::lower(text[name_end + 1]);
    auto bytes = kind == 'q'   ? decode_q(inside)
                 : kind == 'b' ? base64_decode_lenient(inside)
                               : std::nullopt;
    if (!bytes || w.in == charset::unknown) return std::nullopt;
    w.bytes = *std::move(bytes);
    return w;
}

}  // namespace

std::string detail::encode_all(std::string_view text, std::size_t column) {
    std::string out;
    append_words(out, text, column);
    return out;
}

std::string encode_words(std::string_view text, std::size_t column) {
    const span run = to_encode(text);
    if (run.end == 0) return std::string(text);
    std::string out(text.substr(0, run.begin));
    append_words(out, text.substr(run.begin, run.end - run.begin), column + run.begin);
    out += text.substr(run.end);
    return out;
}

std::string decode_words(std::string_view text) {
    std::string out;
    // The bytes of adjacent UTF-8 words: a character may continue in the next word.
    std::string joined;
    const auto flush = [&] {
        coracle::detail::append_utf8(out, joined);
        joined.clear();
    };
    while (!text.empty()) {
        if (text.starts_with("=?")) {
            if (auto w = read_word(text)) {
                joined += w->in == charset::latin ? detail::latin_to_utf8(w->bytes) : w->bytes;
                text.remove_prefix(w->size);
                // Blanks between two encoded words are not part of the text.
                const std::string_view rest =
                    text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
                if (rest.starts_with("=?") && read_word(rest)) {
                    text = rest;
                } else {
                    flush();
                }
                continue;
            }
        }
        const std::size_t size = character(text);
        coracle::detail::append_utf8(out, text.substr(0, size));
        text.remove_prefix(size);
    }
    flush();
    return out;
}

}  // namespace coracle::mime
