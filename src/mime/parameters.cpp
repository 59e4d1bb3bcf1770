#include "mime/parameters.hpp"

#include "base/ascii.hpp"

#include <algorithm>

namespace coracle::mime::detail {
namespace {

bool is_token_byte(char c) noexcept {
    const char small = coracle::detail::lower(c);
    return (small >= 'a' && small <= 'z') || (c >= '0' && c <= '9') ||
           (c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos);
}

std::string_view trim_front(std::string_view text) noexcept {
    while (!text.empty() && coracle::detail::is_blank(text.front())) text.remove_prefix(1);
    return text;
}

}  // namespace

bool is_token(std::string_view text) noexcept {
    for (const char c : text) {
        if (!is_token_byte(c)) return false;
    }
    return !text.empty();
}

bool is_field_value(std::string_view text) noexcept {
    for (const char c : text) {
        if (c == '\0' || c == '\r' || c == '\n') return false;
    }
    return true;
}

std::string_view trim(std::string_view text) noexcept {
    text = trim_front(text);
    while (!text.empty() && coracle::detail::is_blank(text.back())) text.remove_suffix(1);
    return text;
}

bool equal_ignoring_case(std::string_view a, std::string_view b) noexcept {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i != a.size(); ++i) {
        if (coracle::detail::lower(a[i]) != coracle::detail::lower(b[i])) return false;
    }
    return true;
}

// Skips the semicolons and blanks between parameters. Returns false at the end.
bool parameter_reader::skip_to_parameter() noexcept {
    rest_ = trim_front(rest_);
    if (rest_.empty()) return false;
    if (rest_.front() != ';') {
        malformed_ = true;
        return false;
    }
    while (!rest_.empty() && (rest_.front() == ';' || coracle::detail::is_blank(rest_.front()))) {
        rest_.remove_prefix(1);
    }
    return !rest_.empty();
}

// Reads on after the opening quote.
bool parameter_reader::read_quoted(std::string& into) {
    for (std::size_t at = 0; at != rest_.size(); ++at) {
        char c = rest_[at];
        if (c == '"') {
            rest_.remove_prefix(at + 1);
            return true;
        }
        if (c == '\\' && at + 1 != rest_.size()) {
            const char next = rest_[at + 1];
            if (escapes_ == escapes::all || next == '"' || next == '\\') {
                c = next;
                ++at;
            }
        }
        into += c;
    }
    // Browsers write a name that ends with a backslash so: `filename="x\"`.
    const std::size_t end = rest_.find('"');
    if (escapes_ == escapes::all || end == std::string_view::npos) return false;
    into = rest_.substr(0, end);
    rest_.remove_prefix(end + 1);
    return true;
}

bool parameter_reader::read_value(std::string& into) {
    if (!rest_.empty() && rest_.front() == '"') {
        rest_.remove_prefix(1);
        return read_quoted(into);
    }
    const std::string_view token = trim(rest_.substr(0, rest_.find(';')));
    into = token;
    rest_ = rest_.substr(std::min(rest_.find(';'), rest_.size()));
    // Senders leave out the quotes of boundaries and names: accepts all bytes that a field may
    // contain.
    return !token.empty() && token.find('"') == std::string_view::npos;
}

std::optional<parameter_text> parameter_reader::next() {
    while (skip_to_parameter()) {
        const std::size_t end = rest_.find_first_of("=;");
        const std::string_view name = trim(rest_.substr(0, end));
        if (!is_token(name)) return fail();
        if (end == std::string_view::npos || rest_[end] == ';') {
            rest_.remove_prefix(std::min(end, rest_.size()));
            continue;
        }
        parameter_text p;
        p.name = coracle::detail::lower(name);
        rest_ = trim_front(rest_.substr(end + 1));
        if (!read_value(p.value)) return fail();
        return p;
    }
    if (malformed_) rest_ = {};
    return std::nullopt;
}

}  // namespace coracle::mime::detail
