#include "http/message/token.hpp"

#include "http/message/char_table.hpp"

namespace coracle::http {

namespace {

bool all_of_class(std::string_view text, unsigned classes) noexcept {
    for (const char byte : text) {
        if (!is_char(byte, classes)) {
            return false;
        }
    }
    return true;
}

bool is_ows(char byte) noexcept {
    return byte == ' ' || byte == '\t';
}

char lower(char byte) noexcept {
    return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte | 0x20) : byte;
}

}  // namespace

bool is_token(std::string_view text) noexcept {
    return !text.empty() && all_of_class(text, char_token);
}

bool is_field_value(std::string_view text) noexcept {
    if (!text.empty() && (is_ows(text.front()) || is_ows(text.back()))) {
        return false;
    }
    return all_of_class(text, char_value);
}

bool is_reason_phrase(std::string_view text) noexcept {
    return all_of_class(text, char_value);
}

bool is_target(std::string_view text) noexcept {
    return !text.empty() && all_of_class(text, char_target);
}

std::string_view trim_ows(std::string_view text) noexcept {
    while (!text.empty() && is_ows(text.front())) {
        text.remove_prefix(1);
    }
    while (!text.empty() && is_ows(text.back())) {
        text.remove_suffix(1);
    }
    return text;
}

bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (lower(left[i]) != lower(right[i])) {
            return false;
        }
    }
    return true;
}

}  // namespace coracle::http
