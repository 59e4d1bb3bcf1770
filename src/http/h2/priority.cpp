#include "http/h2/priority.hpp"

#include "base/ascii.hpp"

namespace coracle::http::h2 {

namespace {

bool is_key_start(char c) noexcept {
    return (c >= 'a' && c <= 'z') || c == '*';
}
bool is_key(char c) noexcept {
    return is_key_start(c) || coracle::detail::is_digit(c) || c == '_' || c == '-' || c == '.';
}

/// Removes a key (RFC 8941 section 3.1.2) from the front of `text` and returns it.
std::string_view take_key(std::string_view& text) noexcept {
    std::size_t size = 0;
    if (!text.empty() && is_key_start(text.front())) {
        while (size < text.size() && is_key(text[size])) ++size;
    }
    const std::string_view key = text.substr(0, size);
    text.remove_prefix(size);
    return key;
}

/// Removes a bare or quoted item from the front; its parameters are dropped with the rest of the
/// member.
std::string_view take_item(std::string_view& text) noexcept {
    std::size_t size = 0;
    if (!text.empty() && text.front() == '"') {
        size = 1;
        while (size < text.size() && text[size] != '"') size += text[size] == '\\' ? 2U : 1U;
        size = size < text.size() ? size + 1 : text.size();
    } else {
        size = text.find_first_of(";, \t");
        if (size == std::string_view::npos) size = text.size();
    }
    const std::string_view item = text.substr(0, size);
    text.remove_prefix(size);
    return item;
}

void apply(std::string_view key, std::string_view item, priority& out) noexcept {
    if (key == "u" && item.size() == 1 && item.front() >= '0' && item.front() <= '7') {
        out.urgency = static_cast<std::uint8_t>(item.front() - '0');
    } else if (key == "i" && (item == "?1" || item == "?0")) {
        out.incremental = item == "?1";
    }
}

}  // namespace

priority parse_priority(std::string_view value) noexcept {
    priority out;
    value = coracle::detail::trim_blanks(value);
    while (!value.empty()) {
        const std::string_view key = take_key(value);
        if (key.empty()) return {};
        std::string_view item = "?1";  // a key without a value means true (RFC 8941 section 3.2)
        if (!value.empty() && value.front() == '=') {
            value.remove_prefix(1);
            item = take_item(value);
            if (item.empty()) return {};
        }
        apply(key, item, out);
        const std::size_t comma = value.find(',');
        if (comma == std::string_view::npos) {
            value = coracle::detail::trim_blanks(value);
            return value.empty() || value.front() == ';' ? out : priority{};
        }
        value = coracle::detail::trim_blanks(value.substr(comma + 1));
        if (value.empty()) return {};
    }
    return out;
}

}  // namespace coracle::http::h2
