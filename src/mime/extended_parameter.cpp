#include "base/ascii.hpp"
#include "mime/parameters.hpp"
#include "mime/text.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/mime/encoded_word.hpp>
#include <coracle/mime/extended_parameter.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>

namespace coracle::mime {
namespace {

constexpr std::size_t longest_piece = 74;  // with a blank before and a ";" after it: 76

bool is_quotable(std::string_view text) noexcept {
    return std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += c;
    }
    out += '"';
}

// Returns the longest prefix that fits and does not split a "%XX".
std::string_view cut(std::string_view encoded, std::size_t most) noexcept {
    if (encoded.size() <= most) return encoded;
    std::size_t end = most;
    for (std::size_t back = 1; back <= 2 && back <= end; ++back) {
        if (encoded[end - back] == '%') {
            end -= back;
            break;
        }
    }
    return encoded.substr(0, end);
}

void append_pieces(std::string& out, std::string_view name, std::string_view value) {
    const std::string encoded = percent_encode(value);
    std::string_view rest = encoded;
    const bool single = name.size() + 3 + 7 + rest.size() <= longest_piece;
    for (unsigned number = 0; number == 0 || !rest.empty(); ++number) {
        std::string line = "; ";
        line.append(name);
        if (!single) line.append("*").append(std::to_string(number));
        line += "*=";
        if (number == 0) line += "UTF-8''";
        const std::size_t used = line.size();
        const std::size_t room = used + 12 < longest_piece ? longest_piece - used : 12;
        const std::string_view piece = cut(rest, single ? rest.size() : room);
        rest.remove_prefix(piece.size());
        out.append(line).append(piece);
        if (single) return;
    }
}

/// The parts of the name of a piece of a parameter, such as "name*3*".
struct piece_name {
    std::string_view base;
    int number = -1;  ///< -1: not a piece
    bool encoded = false;
};

piece_name read_name(std::string_view name) noexcept {
    piece_name p;
    if (name.ends_with('*')) {
        p.encoded = true;
        name.remove_suffix(1);
    }
    const std::size_t star = name.rfind('*');
    p.base = name;
    if (star == std::string_view::npos) return p;
    const std::string_view digits = name.substr(star + 1);
    int number = 0;
    const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    const bool whole = r.ec == std::errc() && r.ptr == digits.data() + digits.size();
    if (!whole || number < 0 || (digits.size() > 1 && digits.front() == '0')) return p;
    p.base = name.substr(0, star);
    p.number = number;
    return p;
}

/// The pieces of one parameter.
struct gathered {
    std::string name;
    std::string plain;
    std::string charset;
    struct piece {
        int number = 0;
        std::size_t place = 0;  ///< among all pieces
        bool encoded = false;
        std::string text;
    };
    std::vector<piece> pieces;
    bool has_plain = false;
};

std::string to_text(std::string bytes, std::string_view charset) {
    if (detail::equal_ignoring_case(charset, "iso-8859-1")) return detail::latin_to_utf8(bytes);
    return bytes;
}

// Decodes charset'language'text.
std::string take_charset(gathered& g, std::string_view text) {
    const std::size_t first = text.find('\'');
    const std::size_t second = first == std::string_view::npos ? first : text.find('\'', first + 1);
    if (second == std::string_view::npos) return std::string(text);
    g.charset = text.substr(0, first);
    return std::string(text.substr(second + 1));
}

std::string joined(gathered& g) {
    std::string bytes;
    int next = 0;
    for (gathered::piece& p : g.pieces) {
        if (p.number < next) continue;  // a number once more: the first one holds
        if (p.number > next) break;     // a piece is missing: the rest is unusable
        ++next;
        if (!p.encoded) {
            bytes += p.text;
            continue;
        }
        const std::string text = p.number == 0 ? take_charset(g, p.text) : p.text;
        bytes += percent_decode(text).value_or(text);
    }
    return to_text(std::move(bytes), g.charset);
}

}  // namespace

void append_parameter(std::string& field_value, std::string_view name, std::string_view value) {
    const std::size_t plain = name.size() + value.size() + 5;
    if (detail::is_token(value) && plain <= longest_piece) {
        field_value.append("; ").append(name).append("=").append(value);
    } else if (is_quotable(value) && plain <= longest_piece &&
               value.find("=?") == std::string_view::npos) {
        field_value.append("; ").append(name).append("=");
        append_quoted(field_value, value);
    } else {
        append_pieces(field_value, name, value);
    }
}

std::optional<std::vector<parameter>> parse_parameters(std::string_view text) {
    detail::parameter_reader reader(text);
    std::vector<gathered> all;
    // A tree: names that strangers choose cannot make it slow.
    std::map<std::string, std::size_t, std::less<>> places;
    while (auto p = reader.next()) {
        const piece_name n = read_name(p->name);
        const auto [at, is_new] = places.try_emplace(std::string(n.base), all.size());
        if (is_new) all.push_back({at->first, {}, {}, {}, false});
        gathered& g = all[at->second];
        if (n.number >= 0 || n.encoded) {
            const std::size_t place = g.pieces.size();
            g.pieces.push_back({std::max(n.number, 0), place, n.encoded, std::move(p->value)});
        } else if (!g.has_plain) {
            g.has_plain = true;
            g.plain = std::move(p->value);
        }
    }
    if (reader.malformed()) return std::nullopt;
    std::vector<parameter> out;
    for (gathered& g : all) {
        std::ranges::sort(g.pieces, {},
                          [](const gathered::piece& p) { return std::pair(p.number, p.place); });
        const bool begins = !g.pieces.empty() && g.pieces.front().number == 0;
        if (!begins && !g.has_plain) continue;
        // The encoded form is preferred; the plain one is for old readers.
        std::string value = begins ? joined(g) : decode_words(g.plain);
        out.push_back({std::move(g.name), std::move(value)});
    }
    return out;
}

}  // namespace coracle::mime
