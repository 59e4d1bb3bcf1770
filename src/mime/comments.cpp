#include "mime/comments.hpp"

#include "base/ascii.hpp"

namespace coracle::mime::detail {
namespace {

using coracle::detail::is_blank;

/// Returns the place behind a quoted string that begins at `at`.
std::size_t end_of_quoted(std::string_view text, std::size_t at) noexcept {
    for (++at; at < text.size() && text[at] != '"'; ++at) {
        if (text[at] == '\\') ++at;
    }
    return at < text.size() ? at + 1 : text.size();
}

/// Returns the place behind a comment that begins at `at`; npos: it has no end.
std::size_t end_of_comment(std::string_view text, std::size_t at) noexcept {
    unsigned depth = 0;
    for (; at < text.size(); ++at) {
        if (text[at] == '\\') {
            ++at;
        } else if (text[at] == '(') {
            ++depth;
        } else if (text[at] == ')' && --depth == 0) {
            return at + 1;
        }
    }
    return std::string_view::npos;
}

/// Returns the place behind comments and the blanks around them; npos: one has no end.
std::size_t end_of_comments(std::string_view text, std::size_t at) noexcept {
    while (at != std::string_view::npos && at < text.size()) {
        if (text[at] == '(')
            at = end_of_comment(text, at);
        else if (is_blank(text[at]))
            ++at;
        else
            break;
    }
    return at;
}

}  // namespace

std::string without_comments(std::string_view value) {
    std::string out;
    std::size_t at = 0;
    while (at < value.size()) {
        std::size_t end = at + 1;
        if (value[at] == '"') {
            end = end_of_quoted(value, at);
        } else if (value[at] == '(' &&
                   (at == 0 || is_blank(value[at - 1]) || value[at - 1] == '"')) {
            end = end_of_comments(value, at);
            if (end == std::string_view::npos) return out.append(value.substr(at));
            if (at == 0 || end == value.size() || value[end] == ';') {
                at = end;
                continue;
            }
        }
        out.append(value.substr(at, end - at));
        at = end;
    }
    return out;
}

}  // namespace coracle::mime::detail
