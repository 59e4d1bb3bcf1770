#include "base/ascii.hpp"
#include "base/utf8.hpp"
#include "mime/parameters.hpp"
#include "mime/text.hpp"

#include <coracle/base/percent.hpp>
#include <coracle/mime/disposition.hpp>

#include <algorithm>

namespace coracle::mime {
namespace {

constexpr std::string_view hidden[][2] = {{"%22", "\""}, {"%0D", "\r"}, {"%0A", "\n"}};

// Reverses the escapes of the HTML standard for names of a form. Other "%XX" stay: nothing encodes
// them there.
std::string unescape(std::string_view text) {
    std::string out;
    for (std::size_t at = 0; at < text.size(); ++at) {
        char c = text[at];
        for (const auto& [code, byte] : hidden) {
            if (c == '%' && detail::equal_ignoring_case(text.substr(at, 3), code)) {
                c = byte.front();
                at += 2;
                break;
            }
        }
        out += c;
    }
    return out;
}

void append_quoted(std::string& out, std::string_view text) {
    out += '"';
    for (std::size_t at = 0; at != text.size(); ++at) {
        switch (const char c = text[at]; c) {
            case '"': out += "%22"; break;
            case '\r': out += "%0D"; break;
            case '\n': out += "%0A"; break;
            // No browser sends NUL.
            case '\0': break;
            case '\\': {
                // Before another one, or the quote at the end, it would begin an escape.
                const std::size_t next = text.find_first_not_of('\0', at + 1);
                const bool is_alone = next != text.npos && text[next] != '\\';
                out += is_alone ? "\\" : "\\\\";
                break;
            }
            default: out += c;
        }
    }
    out += '"';
}

bool is_plain(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' && c != '%';
    });
}

std::string plain_form(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (!is_plain(std::string_view(&c, 1))) c = '_';
    }
    return out;
}

constexpr std::size_t longest_name = 255;  // NAME_MAX
constexpr std::size_t longest_extension = 32;

}  // namespace

std::optional<content_disposition> parse_disposition(std::string_view text) {
    const std::size_t end = std::min(text.find(';'), text.size());
    content_disposition d;
    d.type = coracle::detail::lower(detail::trim(text.substr(0, end)));
    if (!detail::is_token(d.type)) return std::nullopt;
    detail::parameter_reader reader(text.substr(end), detail::escapes::quotes);
    std::optional<std::string> extended;
    while (auto p = reader.next()) {
        if (p->name == "name" && !d.name) {
            d.name = unescape(p->value);
        } else if (p->name == "filename" && !d.filename) {
            d.filename = unescape(p->value);
        } else if (p->name == "filename*" && !extended) {
            extended = decode_extended_value(p->value);
        }
    }
    if (reader.malformed()) return std::nullopt;
    if (extended) d.filename = std::move(extended);
    return d;
}

std::string format_disposition(const content_disposition& d) {
    std::string out = d.type;
    if (d.name) {
        out += "; name=";
        append_quoted(out, *d.name);
    }
    if (!d.filename) return out;
    out += "; filename=";
    const bool in_form = d.type == "form-data";
    append_quoted(out, in_form ? *d.filename : plain_form(*d.filename));
    if (!in_form && !is_plain(*d.filename)) {
        out += "; filename*=" + encode_extended_value(*d.filename);
    }
    return out;
}

std::optional<std::string> decode_extended_value(std::string_view text) {
    const std::size_t first = text.find('\'');
    if (first == std::string_view::npos) return std::nullopt;
    const std::size_t second = text.find('\'', first + 1);
    if (second == std::string_view::npos) return std::nullopt;
    auto bytes = percent_decode(text.substr(second + 1));
    if (!bytes) return std::nullopt;
    const std::string_view charset = text.substr(0, first);
    if (detail::equal_ignoring_case(charset, "iso-8859-1")) return detail::latin_to_utf8(*bytes);
    if (!detail::equal_ignoring_case(charset, "utf-8") || !detail::is_utf8(*bytes))
        return std::nullopt;
    return bytes;
}

std::string encode_extended_value(std::string_view text) {
    return "UTF-8''" + percent_encode(text);
}

std::string safe_filename(std::string_view sent) {
    const std::size_t slash = sent.find_last_of("/\\");
    if (slash != std::string_view::npos) sent.remove_prefix(slash + 1);
    std::string name;
    while (!sent.empty()) {
        const std::size_t size = coracle::detail::utf8_sequence(sent);
        const auto first = static_cast<unsigned char>(sent.front());
        // U+0080 to U+009F are control characters too.
        const bool control =
            first < 0x20 || first == 0x7f ||
            (size == 2 && first == 0xc2 && static_cast<unsigned char>(sent[1]) < 0xa0);
        if (size != 0 && !control) name += sent.substr(0, size);
        sent.remove_prefix(std::max<std::size_t>(size, 1));
    }
    name.erase(0, std::min(name.find_first_not_of(". "), name.size()));
    name.erase(name.find_last_not_of(". ") + 1);
    if (name.size() <= longest_name) return name;
    const std::size_t dot = name.rfind('.');
    const std::string_view whole = name;
    const std::string_view extension =
        dot != std::string::npos && name.size() - dot <= longest_extension ? whole.substr(dot)
                                                                           : std::string_view();
    std::string_view stem = coracle::detail::utf8_prefix(whole, longest_name - extension.size());
    // An extension begins with a dot, so that only the end of a stem without one is an end.
    if (extension.empty()) stem = stem.substr(0, stem.find_last_not_of(". ") + 1);
    return std::string(stem).append(extension);
}

}  // namespace coracle::mime
