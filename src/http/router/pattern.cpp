#include "http/router/pattern.hpp"

#include "http/router/segment_regex.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/percent.hpp>
#include <coracle/http/request.hpp>

#include <algorithm>
#include <utility>

namespace coracle::http::detail {
namespace {

class parser {
public:
    explicit parser(std::string_view text) : text_(text) {}

    pattern parse() {
        if (text_.empty() || text_[0] != '/') refuse("it does not begin with a slash");
        if (text_.size() > pattern::longest) {
            refuse("it has more than " + std::to_string(pattern::longest) + " bytes");
        }
        while (at_ != text_.size()) {
            if (text_[at_] == '{')
                take_braces();
            else
                take_literal();
        }
        for (pattern_piece& p : made_.pieces) {
            if (!p.parts.empty()) join_parts(p);
        }
        check_dots();
        made_.text = text_;
        return std::move(made_);
    }

private:
    [[noreturn]] void refuse(std::string_view why) const { refuse_pattern(text_, why); }

    void take_literal() {
        const std::size_t end = std::min(text_.find('{', at_), text_.size());
        const std::string_view literal = text_.substr(at_, end - at_);
        check_literal(literal);
        at_ = end;
        if (literal.find('/') != std::string_view::npos) segment_has_parameter_ = false;
        // The text after a parameter, within its segment, is its suffix.
        const bool behind = !made_.pieces.empty();
        const std::size_t own = behind ? std::min(literal.find('/'), literal.size()) : 0;
        if (behind) made_.pieces.back().text = literal.substr(0, own);
        if (own == literal.size()) return;
        pattern_piece p;
        p.text = literal.substr(own);
        made_.pieces.push_back(std::move(p));
    }

    void check_literal(std::string_view literal) const {
        for (const char c : literal) {
            if (c == '}') refuse("a brace is closed that was not opened");
            if (c == '*') refuse("\"*\" stands only in front of a name, as in {*rest}");
            if (c == '?' || c == '#') refuse("it holds a query or a fragment");
            if (c == '\0') refuse("it contains NUL, which paths cannot have");
        }
        for (std::size_t i = literal.find('%'); i != std::string_view::npos;
             i = literal.find('%', i + 1)) {
            const std::string_view triplet = literal.substr(i, 3);
            if (triplet != "%2F" && triplet.size() == 3 && percent_decode(triplet)) {
                refuse("paths are matched decoded: \"" + std::string(triplet) +
                       "\" never occurs, but for %2F");
            }
        }
    }

    void check_dots() const {
        for (const pattern_piece& p : made_.pieces) {
            if (p.what != pattern_piece::kind::literal) continue;
            const bool last = &p == &made_.pieces.back();
            const std::string text = p.text + (last ? "/" : "");
            if (text.find("/./") != std::string::npos || text.find("/../") != std::string::npos) {
                refuse("no path that is matched has a segment \".\" or \"..\"");
            }
        }
    }

    /// Returns the end of the braces that open at `at_`; an expression may contain braces too.
    std::size_t closing_brace() const {
        unsigned depth = 0;
        bool in_class = false;
        for (std::size_t i = at_; i != text_.size(); ++i) {
            const char c = text_[i];
            if (c == '\\' && i + 1 != text_.size()) {
                ++i;
            } else if (in_class) {
                in_class = c != ']';
            } else if (c == '[') {
                in_class = true;
                if (text_.substr(i + 1).starts_with('^')) ++i;
                if (text_.substr(i + 1).starts_with(']')) ++i;
            } else if (c == '{') {
                ++depth;
            } else if (c == '}' && --depth == 0) {
                return i;
            }
        }
        refuse("a brace is not closed");
    }

    void take_braces() {
        const std::size_t end = closing_brace();
        const std::string_view inner = text_.substr(at_ + 1, end - at_ - 1);
        const std::string_view before = text_.substr(0, at_);
        at_ = end + 1;
        if (!inner.starts_with('*')) {
            take_parameter(inner);
        } else if (!before.ends_with('/') || at_ != text_.size()) {
            refuse("{*rest} is the last segment, and a whole one");
        } else {
            take_rest(inner.substr(1));
        }
    }

    void take_parameter(std::string_view inner) {
        pattern_piece::part made;
        const std::size_t colon = inner.find(':');
        made.name = checked_name(inner.substr(0, colon));
        if (colon != std::string_view::npos) {
            const std::string_view expression = inner.substr(colon + 1);
            check_slashes(expression);
            made.regex = compile(expression);
        }
        // Not searched for in the text, because an expression may contain slashes.
        if (std::exchange(segment_has_parameter_, true)) {
            add_part(made_.pieces.back(), std::move(made));
            return;
        }
        pattern_piece p;
        p.what = pattern_piece::kind::parameter;
        p.name = std::move(made.name);
        p.regex = std::move(made.regex);
        if (p.regex) p.captures = p.regex->groups();
        made_.pieces.push_back(std::move(p));
    }

    void add_part(pattern_piece& p, pattern_piece::part made) const {
        if (p.parts.empty()) p.parts.push_back({std::exchange(p.name, {}), p.regex, {}});
        pattern_piece::part& before = p.parts.back();
        before.text = std::exchange(p.text, {});
        if (before.text.empty() && before.regex == nullptr) {
            refuse("nothing says where {" + before.name + "} ends and {" + made.name + "} begins");
        }
        p.parts.push_back(std::move(made));
    }

    /// Makes one expression for all parameters of a segment. A parameter without an expression
    /// takes as little as it can, and the last one the rest.
    void join_parts(pattern_piece& p) const {
        const std::string mark = "coracle_";
        std::string all;
        for (std::size_t i = 0; i != p.parts.size(); ++i) {
            const pattern_piece::part& one = p.parts[i];
            const bool last = i + 1 == p.parts.size();
            all += "(?P<" + mark + std::to_string(i) + '>';
            if (one.regex)
                all += one.regex->text();
            else
                all += last ? "\\C+" : "\\C+?";
            all += ')' + quoted(one.text);
        }
        p.regex = std::make_shared<const segment_regex>(segment_regex::of_parts(), all, text_);
        p.captures = p.regex->groups();
        for (std::size_t i = 0; i != p.parts.size(); ++i) {
            std::replace(p.captures.begin(), p.captures.end(), mark + std::to_string(i),
                         p.parts[i].name);
        }
    }

    /// Literal text as an expression.
    static std::string quoted(std::string_view text) {
        std::string out;
        for (const char c : text) {
            const bool is_word = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                                 (c >= 'a' && c <= 'z') || static_cast<signed char>(c) < 0;
            if (!is_word) out += '\\';
            out += c;
        }
        return out;
    }

    /// A segment has no slash, so a slash in an expression would never match; "[^/]" is allowed.
    void check_slashes(std::string_view expression) const {
        bool in_class = false;
        bool negated = false;
        for (std::size_t i = 0; i != expression.size(); ++i) {
            const char c = expression[i];
            const bool escapes = c == '\\' && i + 1 != expression.size();
            const char meant = escapes ? expression[++i] : c;
            if (meant == '/' && !(in_class && negated)) {
                refuse(
                    "an expression holds a slash, and no segment does: {*name:expression} takes "
                    "several segments");
            }
            if (escapes) continue;
            if (in_class) {
                in_class = c != ']';
            } else if (c == '[') {
                in_class = true;
                negated = expression.substr(i + 1).starts_with('^');
                if (negated) ++i;
                if (expression.substr(i + 1).starts_with(']')) ++i;
            }
        }
    }

    std::shared_ptr<const segment_regex> compile(std::string_view expression) {
        auto made = std::make_shared<const segment_regex>(expression, text_);
        for (const std::string& group : made->groups()) checked_name(group);
        return made;
    }

    void take_rest(std::string_view inner) {
        pattern_piece p;
        p.what = pattern_piece::kind::rest;
        const std::size_t colon = inner.find(':');
        p.name = checked_name(inner.substr(0, colon));
        if (colon != std::string_view::npos) take_policy(p, inner.substr(colon + 1));
        made_.pieces.push_back(std::move(p));
    }

    void take_policy(pattern_piece& p, std::string_view text) {
        if (text == "any") {
            p.policy = rest_policy::any;
        } else if (text == "safe") {
            p.policy = rest_policy::safe;
        } else if (text == "segment") {
            p.policy = rest_policy::segment;
        } else if (std::all_of(text.begin(), text.end(),
                               [](char c) { return c >= 'a' && c <= 'z'; })) {
            // As an expression, a misspelled keyword would only match itself.
            refuse("after {*name: comes any, safe, segment or an expression");
        } else {
            p.regex = compile(text);
            p.captures = p.regex->groups();
        }
    }

    std::string checked_name(std::string_view name) {
        if (name.empty()) refuse("a parameter has no name");
        if (name.find_first_of("{}*/[]\\") != std::string_view::npos) {
            refuse("\"" + std::string(name) + "\" is no name of a parameter");
        }
        if (std::find(names_.begin(), names_.end(), name) != names_.end()) {
            refuse("two parameters are called " + std::string(name));
        }
        if (names_.size() == request::most_params) {
            refuse("it has more than " + std::to_string(request::most_params) + " parameters");
        }
        return names_.emplace_back(name);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool segment_has_parameter_ = false;
    std::vector<std::string> names_;
    pattern made_;
};

}  // namespace

pattern parse_pattern(std::string_view text) {
    return parser(text).parse();
}

std::vector<std::string> names_of(const pattern& p) {
    std::vector<std::string> names;
    for (const pattern_piece& piece : p.pieces) {
        if (piece.what == pattern_piece::kind::literal) continue;
        if (piece.parts.empty()) names.push_back(piece.name);
        names.insert(names.end(), piece.captures.begin(), piece.captures.end());
    }
    return names;
}

void refuse_pattern(std::string_view pattern, std::string_view why) {
    std::string sentence = '"' + std::string(pattern) + "\": ";
    sentence += why;
    throw_exception(error(std::errc::invalid_argument, "route").on(sentence));
}

}  // namespace coracle::http::detail
