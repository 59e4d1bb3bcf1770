#include "base/utf8.hpp"

#include <coracle/http/problem.hpp>

namespace coracle::http {
namespace {

constexpr std::string_view replacement = "\xef\xbf\xbd";

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
        const std::size_t size = coracle::detail::utf8_sequence(text);
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
    for (const std::string_view own : {"type", "title", "status", "detail", "instance"}) {
        if (name != own) continue;
        error e(std::errc::invalid_argument, "problem");
        throw_exception(
            std::move(e.on('"' + std::string(name) + "\" is no member more, but one of its own")));
    }
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
