#include "base/json_scanner.hpp"

#include "base/ascii.hpp"
#include "base/utf8.hpp"

namespace coracle::detail {
namespace {

void append_utf8(std::string& out, unsigned code) {
    const auto append = [&out](unsigned byte) { out += static_cast<char>(byte); };
    if (code < 0x80) {
        append(code);
        return;
    }
    if (code < 0x800) {
        append(0xc0 | code >> 6);
    } else if (code < 0x10000) {
        append(0xe0 | code >> 12);
        append(0x80 | (code >> 6 & 0x3f));
    } else {
        append(0xf0 | code >> 18);
        append(0x80 | (code >> 12 & 0x3f));
        append(0x80 | (code >> 6 & 0x3f));
    }
    append(0x80 | (code & 0x3f));
}

std::size_t digits(std::string_view text) noexcept {
    std::size_t size = 0;
    while (size < text.size() && is_digit(text[size])) ++size;
    return size;
}

}  // namespace

char json_scanner::peek() noexcept {
    while (at_ < text_.size() &&
           (is_blank(text_[at_]) || text_[at_] == '\n' || text_[at_] == '\r')) {
        ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
}

bool json_scanner::take(char structural) noexcept {
    if (peek() != structural) return false;
    ++at_;
    return true;
}

bool json_scanner::take_string(std::string& out) {
    if (!take('"')) return false;
    while (at_ < text_.size()) {
        const char c = text_[at_];
        if (c == '"') {
            ++at_;
            return true;
        }
        if (c == '\\') {
            ++at_;
            if (!take_escape(out)) return false;
            continue;
        }
        const std::size_t size = utf8_sequence(text_.substr(at_));
        if (size == 0 || static_cast<unsigned char>(c) < 0x20) return false;
        out.append(text_, at_, size);
        at_ += size;
    }
    return false;
}

// Reads an escape, from the character after the backslash (RFC 8259 section 7).
bool json_scanner::take_escape(std::string& out) {
    constexpr std::string_view names = "\"\\/bfnrt";
    constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
    if (at_ == text_.size()) return false;
    const char c = text_[at_++];
    if (const std::size_t i = names.find(c); i != std::string_view::npos) {
        out += meanings[i];
        return true;
    }
    unsigned code = 0;
    if (c != 'u' || !take_unit(code) || (code >= 0xdc00 && code < 0xe000)) return false;
    if (code >= 0xd800 && code < 0xdc00) {
        unsigned low = 0;
        if (!text_.substr(at_).starts_with("\\u")) return false;
        at_ += 2;
        if (!take_unit(low) || low < 0xdc00 || low >= 0xe000) return false;
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
    return true;
}

bool json_scanner::take_unit(unsigned& unit) noexcept {
    if (text_.size() - at_ < 4) return false;
    unit = 0;
    for (int i = 0; i < 4; ++i) {
        const int digit = hex_value(text_[at_++]);
        if (digit < 0) return false;
        unit = unit << 4 | static_cast<unsigned>(digit);
    }
    return true;
}

std::string_view json_scanner::take_scalar() noexcept {
    peek();
    const std::string_view rest = text_.substr(at_);
    std::size_t size = number_size();
    for (const std::string_view word : {"true", "false", "null"}) {
        if (rest.starts_with(word)) size = word.size();
    }
    at_ += size;
    return rest.substr(0, size);
}

// RFC 8259 section 6; 0: none.
std::size_t json_scanner::number_size() const noexcept {
    std::string_view rest = text_.substr(at_);
    const std::size_t all = rest.size();
    if (rest.starts_with('-')) rest.remove_prefix(1);
    const std::size_t whole = rest.starts_with('0') ? 1 : digits(rest);
    if (whole == 0) return 0;
    rest.remove_prefix(whole);
    if (rest.starts_with('.')) {
        const std::size_t fraction = digits(rest.substr(1));
        if (fraction == 0) return 0;
        rest.remove_prefix(1 + fraction);
    }
    if (rest.starts_with('e') || rest.starts_with('E')) {
        rest.remove_prefix(1);
        if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
        const std::size_t exponent = digits(rest);
        if (exponent == 0) return 0;
        rest.remove_prefix(exponent);
    }
    return all - rest.size();
}

}  // namespace coracle::detail
