#include "json_value.hpp"

#include <charconv>
#include <optional>

namespace coracle::tool::bench {

/// Reads one text.
class json_reader {
public:
    explicit json_reader(std::string_view text) noexcept : text_(text) {}

    std::expected<json_value, json_fault> whole() {
        json_value v;
        skip_spaces();
        if (!value(v, 0)) return failed();
        skip_spaces();
        if (at_ != text_.size()) {
            complain("nothing should follow");
            return failed();
        }
        return v;
    }

private:
    std::unexpected<json_fault> failed() const { return std::unexpected(json_fault{at_, wrong_}); }
    bool complain(const char* why) {
        if (wrong_.empty()) wrong_ = why;
        return false;
    }
    void skip_spaces() noexcept {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' ||
                                      text_[at_] == '\n' || text_[at_] == '\r')) {
            ++at_;
        }
    }
    bool take(char c) noexcept {
        if (at_ == text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }

    bool value(json_value& v, unsigned depth) {
        if (at_ == text_.size()) return complain("a value was expected");
        if (depth > json_value::most_depth) return complain("too many levels");
        v.position_ = at_;
        switch (text_[at_]) {
            case '{': return object(v, depth);
            case '[': return array(v, depth);
            case '"': v.kind_ = json_value::kind::text; return text(v.text_);
            case 't': return word("true", v, json_value::kind::boolean, 1);
            case 'f': return word("false", v, json_value::kind::boolean, 0);
            case 'n': return word("null", v, json_value::kind::null, 0);
            default: return number(v);
        }
    }

    bool word(std::string_view name, json_value& v, json_value::kind k, double n) {
        if (!text_.substr(at_).starts_with(name)) return complain("a value was expected");
        at_ += name.size();
        v.kind_ = k;
        v.number_ = n;
        return true;
    }

    static bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    /// from_chars takes more than RFC 8259 section 6: "01", "1." and "-inf".
    static bool is_strict(std::string_view number) noexcept {
        if (number.starts_with('-')) number.remove_prefix(1);
        if (number.empty() || !is_digit(number.front())) return false;
        if (number.size() > 1 && number[0] == '0' && is_digit(number[1])) return false;
        const std::size_t point = number.find('.');
        return point == number.npos || (point + 1 < number.size() && is_digit(number[point + 1]));
    }

    bool number(json_value& v) {
        const char* const begin = text_.data() + at_;
        const char* const end = text_.data() + text_.size();
        const char c = *begin;
        if (c != '-' && (c < '0' || c > '9')) return complain("a value was expected");
        const auto [stop, fault] = std::from_chars(begin, end, v.number_);
        if (fault != std::errc() || !is_strict(std::string_view(begin, stop))) {
            return complain("the number cannot be read");
        }
        at_ += static_cast<std::size_t>(stop - begin);
        v.kind_ = json_value::kind::number;
        return true;
    }

    bool array(json_value& v, unsigned depth) {
        v.kind_ = json_value::kind::array;
        ++at_;
        skip_spaces();
        if (take(']')) return true;
        for (;;) {
            skip_spaces();
            if (!value(v.elements_.emplace_back(), depth + 1)) return false;
            skip_spaces();
            if (take(']')) return true;
            if (!take(',')) return complain("',' or ']' was expected");
        }
    }

    bool object(json_value& v, unsigned depth) {
        v.kind_ = json_value::kind::object;
        ++at_;
        skip_spaces();
        if (take('}')) return true;
        for (;;) {
            skip_spaces();
            auto& member = v.members_.emplace_back();
            member.second.name_position_ = at_;
            if (!text(member.first)) return complain("a name was expected");
            skip_spaces();
            if (!take(':')) return complain("':' was expected");
            skip_spaces();
            if (!value(member.second, depth + 1)) return false;
            skip_spaces();
            if (take('}')) return true;
            if (!take(',')) return complain("',' or '}' was expected");
        }
    }

    bool text(std::string& out) {
        if (!take('"')) return complain("a string was expected");
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (static_cast<unsigned char>(c) < 0x20) return complain("a control byte in a string");
            ++at_;
            if (c == '"') return true;
            if (c != '\\') {
                out += c;
            } else if (!escape(out)) {
                return false;
            }
        }
        return complain("the string has no end");
    }

    bool escape(std::string& out) {
        if (at_ == text_.size()) return complain("the string has no end");
        const char c = text_[at_++];
        switch (c) {
            case '"':
            case '\\':
            case '/': out += c; return true;
            case 'b': out += '\b'; return true;
            case 'f': out += '\f'; return true;
            case 'n': out += '\n'; return true;
            case 'r': out += '\r'; return true;
            case 't': out += '\t'; return true;
            case 'u': return character(out);
            default: return complain("an unknown escape");
        }
    }

    std::optional<unsigned> four_digits() noexcept {
        unsigned code = 0;
        if (text_.size() - at_ < 4) return {};
        const char* const begin = text_.data() + at_;
        const auto [stop, fault] = std::from_chars(begin, begin + 4, code, 16);
        if (fault != std::errc() || stop != begin + 4) return {};
        at_ += 4;
        return code;
    }

    /// "\uXXXX", or two of them for a character beyond the first plane (RFC 8259 section 7).
    bool character(std::string& out) {
        auto code = four_digits();
        if (!code) return complain("four hexadecimal digits were expected");
        if (*code >= 0xd800 && *code < 0xdc00 && text_.substr(at_).starts_with("\\u")) {
            at_ += 2;
            const auto low = four_digits();
            if (!low || *low < 0xdc00 || *low > 0xdfff) return complain("half of a character");
            code = 0x10000 + ((*code - 0xd800) << 10U) + (*low - 0xdc00);
        }
        append_utf8(out, *code >= 0xd800 && *code <= 0xdfff ? 0xfffd : *code);
        return true;
    }

    static void append_utf8(std::string& out, unsigned c) {
        const auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
        if (c < 0x80) {
            put(c);
        } else if (c < 0x800) {
            put(0xc0U | c >> 6U);
            put(0x80U | (c & 0x3fU));
        } else if (c < 0x10000) {
            put(0xe0U | c >> 12U);
            put(0x80U | (c >> 6U & 0x3fU));
            put(0x80U | (c & 0x3fU));
        } else {
            put(0xf0U | c >> 18U);
            put(0x80U | (c >> 12U & 0x3fU));
            put(0x80U | (c >> 6U & 0x3fU));
            put(0x80U | (c & 0x3fU));
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string wrong_;
};

std::expected<json_value, std::string> json_value::parse(std::string_view text) {
    auto whole = read(text);
    if (whole) return *std::move(whole);
    const json_fault& f = whole.error();
    return std::unexpected("at byte " + std::to_string(f.at) + ": " + f.why);
}

std::expected<json_value, json_fault> json_value::read(std::string_view text) {
    return json_reader(text).whole();
}

const json_value* json_value::find(std::string_view name) const noexcept {
    for (const auto& [key, value] : members_) {
        if (key == name) return &value;
    }
    return nullptr;
}

const json_value& json_value::operator[](std::string_view name) const noexcept {
    static const json_value none;
    const json_value* const found = find(name);
    return found != nullptr ? *found : none;
}

}  // namespace coracle::tool::bench
