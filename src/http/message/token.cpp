#include "http/message/token.hpp"

#include "base/ascii.hpp"
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

}  // namespace

bool is_token(std::string_view text) noexcept {
    return !text.empty() && all_of_class(text, char_token);
}

bool is_field_value(std::string_view text) noexcept {
    if (!text.empty() &&
        (coracle::detail::is_blank(text.front()) || coracle::detail::is_blank(text.back()))) {
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
    return coracle::detail::trim_blanks(text);
}

bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept {
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (coracle::detail::lower(left[i]) != coracle::detail::lower(right[i])) {
            return false;
        }
    }
    return true;
}

}  // namespace coracle::http
