#include "url_glob.hpp"

#include "settings.hpp"

#include <charconv>
#include <utility>

namespace coracle::tool {
namespace {

constexpr std::size_t most_urls = 1'000'000;

bool is_digit(char c) noexcept {
    return c >= '0' && c <= '9';
}

bool is_letter(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// Nothing but a number from 0 to 2^63 on.
bool read_number(std::string_view text, std::uint64_t& n) noexcept {
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), n);
    return failed == std::errc() && end == text.data() + text.size() && n >> 62U == 0;
}

/// Returns true for an IPv6 address, as in http://[::1]:8080/ or [fe80::1%25eth0].
bool is_address(std::string_view inner) noexcept {
    const std::string_view digits = inner.substr(0, inner.find('%'));
    const bool has_colons = digits.find(':') != digits.rfind(':');
    return has_colons &&
           digits.find_first_not_of("0123456789abcdefABCDEF:.") == std::string_view::npos;
}

/// "first-last" or "first-last:step".
struct range {
    std::string_view first;
    std::string_view last;
    std::uint64_t step = 1;
    bool has_step = false;
};

bool split(std::string_view inner, range& r) noexcept {
    const std::size_t dash = inner.find('-');
    if (dash == std::string_view::npos) return false;
    r.first = inner.substr(0, dash);
    r.last = inner.substr(dash + 1);
    const std::size_t colon = r.last.find(':');
    if (colon == std::string_view::npos) return true;
    r.has_step = true;
    const bool is_step = read_number(r.last.substr(colon + 1), r.step) && r.step != 0;
    r.last = r.last.substr(0, colon);
    return is_step;
}

/// Returns false if it goes backwards, or its step leads beyond its end, which curl refuses too.
bool is_forward(const range& r, std::uint64_t first, std::uint64_t last) noexcept {
    return first <= last && (!r.has_step || first == last || r.step <= last - first);
}

bool letters_of(const range& r, std::vector<std::string>& values) {
    if (r.first.size() != 1 || r.last.size() != 1) return false;
    const char first = r.first[0];
    const char last = r.last[0];
    const bool of_one_case = is_letter(first) && is_letter(last) && (first <= 'Z') == (last <= 'Z');
    if (!of_one_case ||
        !is_forward(r, static_cast<unsigned char>(first), static_cast<unsigned char>(last))) {
        return false;
    }
    for (std::uint64_t c = static_cast<unsigned char>(first); c <= static_cast<unsigned char>(last);
         c += r.step) {
        values.emplace_back(1, static_cast<char>(c));
    }
    return true;
}

bool numbers_of(const range& r, std::vector<std::string>& values) {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    if (r.first.empty() || !is_digit(r.first[0]) || !read_number(r.first, first) ||
        !read_number(r.last, last) || !is_forward(r, first, last)) {
        return false;
    }
    // [001-100] keeps the width.
    const std::size_t width = r.first[0] == '0' ? r.first.size() : 0;
    // The caller counts them, and refuses more.
    for (std::uint64_t n = first; n <= last && values.size() <= most_urls; n += r.step) {
        std::string text = std::to_string(n);
        if (text.size() < width) text.insert(0, width - text.size(), '0');
        values.push_back(std::move(text));
    }
    return true;
}

}  // namespace

url_glob::url_glob(std::string_view text, bool patterns) : text_(text) {
    parts_.emplace_back();
    if (patterns) {
        read(text);
    } else {
        parts_.back().before = text;
    }
    text_ = {};
}

void url_glob::refuse(std::size_t at, const char* why) {
    // Not the URL itself, which may have a password.
    throw malformed_url("the URL is malformed: " + std::string(why) + ", at byte " +
                        std::to_string(at + 1) + " (-g takes braces and brackets as they are)");
}

void url_glob::add(std::vector<std::string> values) {
    if (values.size() > most_urls / size_) {
        throw malformed_url("the patterns of a URL stand for more than 1,000,000");
    }
    size_ *= values.size();
    parts_.back().values = std::move(values);
    parts_.emplace_back();
}

void url_glob::read(std::string_view text) {
    constexpr std::string_view special = "{}[]";
    for (std::size_t i = 0; i < text.size();) {
        const char c = text[i];
        const bool escapes =
            c == '\\' && i + 1 < text.size() && special.find(text[i + 1]) != std::string_view::npos;
        if (escapes) {
            parts_.back().before += text[i + 1];
            i += 2;
        } else if (c == '{') {
            i = set_at(i);
        } else if (c == '[') {
            i = range_at(i);
        } else if (c == '}' || c == ']') {
            refuse(i, c == '}' ? "a } without its {" : "a ] without its [");
        } else {
            parts_.back().before += c;
            ++i;
        }
    }
}

std::size_t url_glob::set_at(std::size_t open) {
    std::vector<std::string> values(1);
    for (std::size_t i = open + 1; i < text_.size(); ++i) {
        const char c = text_[i];
        if (c == '}') {
            if (i == open + 1) refuse(open, "nothing between { and }");
            add(std::move(values));
            return i + 1;
        }
        if (c == '{' || c == '[' || c == ']') refuse(i, "a bracket or brace within {}");
        if (c == ',') {
            values.emplace_back();
        } else {
            if (c == '\\' && i + 1 < text_.size()) ++i;
            values.back() += text_[i];
        }
    }
    refuse(open, "a { without its }");
}

std::size_t url_glob::range_at(std::size_t open) {
    const std::size_t close = text_.find(']', open);
    if (close == std::string_view::npos) refuse(open, "a [ without its ]");
    const std::string_view inner = text_.substr(open + 1, close - open - 1);
    if (inner.empty() || is_address(inner)) {
        parts_.back().before += text_.substr(open, close + 1 - open);
        return close + 1;
    }
    range r;
    std::vector<std::string> values;
    if (!split(inner, r) || !(letters_of(r, values) || numbers_of(r, values))) {
        refuse(open, "a range that is none");
    }
    add(std::move(values));
    return close + 1;
}

url_glob::match url_glob::at(std::size_t i) const {
    match m;
    // The last one changes fastest.
    m.values.resize(parts_.size() - 1);
    for (std::size_t p = m.values.size(); p-- != 0;) {
        const std::vector<std::string>& values = parts_[p].values;
        m.values[p] = values[i % values.size()];
        i /= values.size();
    }
    for (std::size_t p = 0; p != parts_.size(); ++p) {
        m.url += parts_[p].before;
        if (p != m.values.size()) m.url += m.values[p];
    }
    return m;
}

std::string with_values(std::string_view name, const std::vector<std::string>& values) {
    std::string out;
    while (!name.empty()) {
        std::size_t end = 1;
        while (name[0] == '#' && end < name.size() && is_digit(name[end])) ++end;
        std::uint64_t n = 0;
        if (end != 1 && read_number(name.substr(1, end - 1), n) && n != 0 && n <= values.size()) {
            out += values[static_cast<std::size_t>(n - 1)];
        } else {
            out += name.substr(0, end);
        }
        name.remove_prefix(end);
    }
    return out;
}

}  // namespace coracle::tool
