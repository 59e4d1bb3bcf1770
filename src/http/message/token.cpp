#include "http/message/token.hpp"

#include "base/ascii.hpp"
#include "http/message/char_table.hpp"

#include <cstdint>
#include <cstring>

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

/// Returns true if none of 8 bytes is a control character; tabs count as one.
bool are_without_controls(const char* bytes) noexcept {
    constexpr std::uint64_t ones = 0x0101010101010101U;
    std::uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    const std::uint64_t high = ~word & (ones * 0x80);  // of the bytes below 0x80
    const std::uint64_t del = word ^ (ones * 0x7f);
    const std::uint64_t below_blank = (word - ones * 0x20) & high;
    return (below_blank | ((del - ones) & ~del & (ones * 0x80))) == 0;
}

/// Values are long and hardly ever have a tab: eight bytes at a time cost as much as two alone.
bool all_of_value(std::string_view text) noexcept {
    while (text.size() >= 8 && are_without_controls(text.data())) text.remove_prefix(8);
    return all_of_class(text, char_value);
}

}  // namespace

bool is_token(std::string_view text) noexcept {
    return !text.empty() && all_of_class(text, char_token);
}

bool is_lower_token(std::string_view text) noexcept {
    return !text.empty() && all_of_class(text, char_lower_token);
}

bool is_field_value(std::string_view text) noexcept {
    if (!text.empty() &&
        (coracle::detail::is_blank(text.front()) || coracle::detail::is_blank(text.back()))) {
        return false;
    }
    return all_of_value(text);
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
