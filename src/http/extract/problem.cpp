#include <coracle/http/problem.hpp>

namespace coracle::http {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

/// The length of the UTF-8 sequence that `text` begins with (RFC 3629 section 4), 0 if there is
/// none.
std::size_t sequence_size(std::string_view text) noexcept {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return 1;
    const std::size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || text.size() < size) return 0;
    for (std::size_t i = 1; i != size; ++i) {
        if (byte(i) >> 6 != 2) return 0;
    }
    // Overlong forms, surrogates, and what is beyond U+10FFFF.
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f)) return 0;
    if ((lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f)) return 0;
    return size;
}

void add_ascii(std::string& out, char byte) {
    constexpr std::string_view hex = "0123456789abcdef";
    switch (byte) {
        case '"': out += "\\\""; return;
        case '\\': out += "\\\\"; return;
        case '\n': out += "\\n"; return;
        case '\r': out += "\\r"; return;
        case '\t': out += "\\t"; return;
        default: break;
    }
    const auto value = static_cast<unsigned char>(byte);
    if (value >= 0x20 && value != 0x7f) {
        out += byte;
    } else {
        out += "\\u00";
        out += hex[value >> 4];
        out += hex[value & 15U];
    }
}

void add_member(std::string& out, std::string_view name, std::string_view json) {
    if (out.size() > 1) out += ',';
    out += json_quoted(name);
    out += ':';
    out += json;
}

}  // namespace

std::string json_quoted(std::string_view text) {
    std::string out = "\"";
    while (!text.empty()) {
        const std::size_t size = sequence_size(text);
        if (size == 1) {
            add_ascii(out, text.front());
        } else {
            out += size == 0 ? replacement : text.substr(0, size);
        }
        text.remove_prefix(size == 0 ? 1 : size);
    }
    return out + '"';
}

problem::problem(http::status code, std::string_view detail)
    : status_(code), title_(reason_phrase(code)), detail_(detail) {}

problem& problem::add(std::string_view name, std::string_view value) {
    return add_json(name, json_quoted(value));
}

problem& problem::add_json(std::string_view name, std::string_view json) {
    more_ += ',' + json_quoted(name) + ':';
    more_ += json;
    return *this;
}

std::string problem::text() const {
    std::string out = "{";
    if (!type_.empty()) add_member(out, "type", json_quoted(type_));
    if (!title_.empty()) add_member(out, "title", json_quoted(title_));
    add_member(out, "status", std::to_string(static_cast<int>(status_)));
    if (!detail_.empty()) add_member(out, "detail", json_quoted(detail_));
    if (!instance_.empty()) add_member(out, "instance", json_quoted(instance_));
    return out + more_ + '}';
}

problem::operator response() const {
    response r(status_);
    r.set_body(text(), "application/problem+json");
    return r;
}

}  // namespace coracle::http
