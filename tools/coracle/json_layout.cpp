#include "json_layout.hpp"

#include <cstddef>
#include <utility>

namespace coracle::tool {
namespace {

constexpr std::size_t most_levels = 100;
// Two bytes deep inside of arrays would take 200 blanks.
constexpr std::size_t most_growth = 8;
constexpr std::size_t always_allowed = 1024 * 1024;
constexpr std::string_view name_colour = "\x1b[34m";
constexpr std::string_view string_colour = "\x1b[32m";
constexpr std::string_view no_colour = "\x1b[0m";

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_hex(char c) noexcept {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/// Reads a text, and writes it with a new layout.
class layout {
public:
    layout(std::string_view text, bool colours) noexcept
        : rest_(text), most_(text.size() * most_growth + always_allowed), colours_(colours) {}

    bool run() {
        skip_space();
        if (!value(0)) return false;
        skip_space();
        return rest_.empty();
    }
    std::string& text() noexcept { return out_; }

private:
    char next() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }
    bool take(char c) noexcept {
        if (rest_.empty() || rest_.front() != c) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void skip_space() noexcept {
        while (!rest_.empty() && std::string_view(" \t\r\n").contains(rest_.front())) {
            rest_.remove_prefix(1);
        }
    }
    void new_line(std::size_t level) { out_.append("\n").append(2 * level, ' '); }

    bool value(std::size_t level) {
        if (level > most_levels || out_.size() > most_) return false;
        switch (next()) {
            case '{': return members(level, '{', '}');
            case '[': return members(level, '[', ']');
            case '"': return string(string_colour);
            case 't': return word("true");
            case 'f': return word("false");
            case 'n': return word("null");
            default: return number();
        }
    }

    /// An object or an array.
    bool members(std::size_t level, char begin, char end) {
        const bool named = begin == '{';
        take(begin);
        out_ += begin;
        skip_space();
        if (take(end)) {
            out_ += end;
            return true;
        }
        for (;;) {
            new_line(level + 1);
            if (named && !name()) return false;
            if (!value(level + 1)) return false;
            skip_space();
            if (take(end)) break;
            if (!take(',')) return false;
            out_ += ',';
            skip_space();
        }
        new_line(level);
        out_ += end;
        return true;
    }

    bool name() {
        if (next() != '"' || !string(name_colour)) return false;
        skip_space();
        if (!take(':')) return false;
        out_ += ": ";
        skip_space();
        return true;
    }

    bool string(std::string_view colour) {
        const std::size_t size = size_of_string();
        if (size == 0) return false;
        if (colours_) out_ += colour;
        put(size);
        if (colours_) out_ += no_colour;
        return true;
    }

    /// With both quotes; 0 when it is malformed.
    std::size_t size_of_string() const noexcept {
        for (std::size_t i = 1; i < rest_.size(); ++i) {
            const char c = rest_[i];
            if (c == '"') return i + 1;
            if (static_cast<unsigned char>(c) < 0x20) return 0;
            if (c != '\\') continue;
            if (++i == rest_.size()) return 0;
            if (rest_[i] != 'u') {
                if (!std::string_view("\"\\/bfnrt").contains(rest_[i])) return 0;
                continue;
            }
            for (int digit = 0; digit != 4; ++digit) {
                ++i;
                if (i == rest_.size() || !is_hex(rest_[i])) return 0;
            }
        }
        return 0;
    }

    bool word(std::string_view expected) {
        if (!rest_.starts_with(expected)) return false;
        put(expected.size());
        return true;
    }

    std::size_t digits_from(std::size_t at) const noexcept {
        while (at < rest_.size() && is_digit(rest_[at])) ++at;
        return at;
    }

    bool number() {
        std::size_t at = next() == '-' ? 1 : 0;
        std::size_t end = digits_from(at);
        if (end == at || (rest_[at] == '0' && end != at + 1)) return false;
        if (end < rest_.size() && rest_[end] == '.') {
            at = end + 1;
            end = digits_from(at);
            if (end == at) return false;
        }
        if (end < rest_.size() && (rest_[end] == 'e' || rest_[end] == 'E')) {
            at = end + 1;
            if (at < rest_.size() && (rest_[at] == '+' || rest_[at] == '-')) ++at;
            end = digits_from(at);
            if (end == at) return false;
        }
        put(end);
        return true;
    }

    void put(std::size_t size) {
        out_ += rest_.substr(0, size);
        rest_.remove_prefix(size);
    }

    std::string_view rest_;
    std::string out_;
    std::size_t most_;
    bool colours_;
};

}  // namespace

std::optional<std::string> lay_out_json(std::string_view text, bool colours) {
    layout l(text, colours);
    if (!l.run()) return std::nullopt;
    return std::move(l.text());
}

}  // namespace coracle::tool
