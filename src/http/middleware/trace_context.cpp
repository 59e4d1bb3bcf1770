#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <coracle/http/middleware/trace_context.hpp>

#include <algorithm>
#include <span>

namespace coracle::http {
namespace {

constexpr std::size_t size_of_00 = 55;
/// Section 3.3.1.3.3: what has to be passed on at least.
constexpr std::size_t longest_state = 512;
constexpr std::size_t most_members = 32;

/// Hexadecimal digits in lower case alone.
bool read_hex(std::string_view text, std::span<std::uint8_t> out) noexcept {
    for (std::size_t i = 0; i != text.size(); ++i) {
        const char c = text[i];
        const bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && !(c >= 'a' && c <= 'f')) return false;
        const auto digit = static_cast<std::uint8_t>(is_digit ? c - '0' : c - 'a' + 10);
        out[i / 2] = static_cast<std::uint8_t>(i % 2 == 0 ? digit << 4 : out[i / 2] | digit);
    }
    return true;
}

bool is_zero(std::span<const std::uint8_t> bytes) noexcept {
    return std::ranges::all_of(bytes, [](std::uint8_t b) { return b == 0; });
}

void append_hex(std::string& out, std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t b : bytes) {
        out += "0123456789abcdef"[b >> 4];
        out += "0123456789abcdef"[b & 15];
    }
}

bool is_lower_or_digit(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/// Section 3.3.1.3.1: a key with a part for a tenant, or without.
bool is_key(std::string_view key) noexcept {
    constexpr std::size_t longest = 256;
    if (key.empty() || key.size() > longest || !is_lower_or_digit(key.front())) return false;
    if (std::ranges::count(key, '@') > 1) return false;
    return std::ranges::all_of(key, [](char c) {
        return is_lower_or_digit(c) || c == '_' || c == '-' || c == '*' || c == '/' || c == '@';
    });
}

bool is_value(std::string_view value) noexcept {
    constexpr std::size_t longest = 256;
    if (value.empty() || value.size() > longest || value.back() == ' ') return false;
    return std::ranges::all_of(
        value, [](char c) { return c >= 0x20 && c <= 0x7e && c != ',' && c != '='; });
}

bool is_state(std::string_view text) noexcept {
    if (text.size() > longest_state) return false;
    std::size_t members = 0;
    while (!text.empty()) {
        const std::string_view member = trim_ows(coracle::detail::take_item(text));
        if (member.empty()) continue;  // is allowed
        const std::size_t equals = member.find('=');
        if (equals == member.npos || ++members > most_members) return false;
        if (!is_key(member.substr(0, equals)) || !is_value(member.substr(equals + 1))) return false;
    }
    return true;
}

}  // namespace

std::optional<trace_context> trace_context::parse(std::string_view text) {
    if (text.size() < size_of_00) return std::nullopt;
    std::uint8_t version = 0;
    std::uint8_t flags = 0;
    trace_context out;
    const bool has_dashes = text[2] == '-' && text[35] == '-' && text[52] == '-';
    if (!has_dashes || !read_hex(text.substr(0, 2), {&version, 1}) ||
        !read_hex(text.substr(3, 32), out.trace) || !read_hex(text.substr(36, 16), out.span) ||
        !read_hex(text.substr(53, 2), {&flags, 1})) {
        return std::nullopt;
    }
    if (version == 0xff || is_zero(out.trace) || is_zero(out.span)) return std::nullopt;
    if (text.size() > size_of_00 && (version == 0 || text[size_of_00] != '-')) return std::nullopt;
    out.sampled = (flags & 1) != 0;
    return out;
}

std::optional<trace_context> trace_context::in(const http::fields& all) {
    const field* parent = nullptr;
    std::string state;
    for (const field& f : all) {
        if (equal_ignoring_case(f.name, "traceparent")) {
            if (parent != nullptr) return std::nullopt;
            parent = &f;
        } else if (equal_ignoring_case(f.name, "tracestate")) {
            state.append(state.empty() ? "" : ",").append(f.value);
        }
    }
    auto out = parent == nullptr ? std::nullopt : parse(trim_ows(parent->value));
    if (out && is_state(state)) out->state = std::move(state);
    return out;
}

std::string trace_context::text() const {
    std::string out = "00-";
    append_hex(out, trace);
    out += '-';
    append_hex(out, span);
    out += sampled ? "-01" : "-00";
    return out;
}

}  // namespace coracle::http
