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
        // What follows a parameter in its segment belongs to it.
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
            if (c == '\0') refuse("it holds NUL, which no path does");
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

    /// The end of the braces that open at `at_`: an expression may hold braces too.
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
        // Not looked up in the text: an expression may hold slashes too.
        if (std::exchange(segment_has_parameter_, true)) {
            refuse("a segment holds one parameter at the most");
        }
        const std::string_view before = text_.substr(0, at_);
        at_ = end + 1;
        if (inner.starts_with('*')) {
            if (!before.ends_with('/') || at_ != text_.size()) {
                refuse("{*rest} is the last segment, and a whole one");
            }
            take_rest(inner.substr(1));
        } else {
            take_parameter(inner);
        }
    }

    void take_parameter(std::string_view inner) {
        pattern_piece p;
        p.what = pattern_piece::kind::parameter;
        const std::size_t colon = inner.find(':');
        p.name = checked_name(inner.substr(0, colon));
        if (colon != std::string_view::npos) {
            p.regex = std::make_shared<const segment_regex>(inner.substr(colon + 1), text_);
        }
        made_.pieces.push_back(std::move(p));
    }

    void take_rest(std::string_view inner) {
        pattern_piece p;
        p.what = pattern_piece::kind::rest;
        const std::size_t colon = inner.find(':');
        p.name = checked_name(inner.substr(0, colon));
        if (colon != std::string_view::npos) p.policy = policy(inner.substr(colon + 1));
        made_.pieces.push_back(std::move(p));
    }

    rest_policy policy(std::string_view name) const {
        if (name == "any") return rest_policy::any;
        if (name == "safe") return rest_policy::safe;
        if (name == "segment") return rest_policy::segment;
        refuse("behind {*name: stands any, safe or segment");
    }

    std::string checked_name(std::string_view name) const {
        if (name.empty()) refuse("a parameter has no name");
        if (name.find_first_of("{}*/[]\\") != std::string_view::npos) {
            refuse("\"" + std::string(name) + "\" is no name of a parameter");
        }
        std::size_t parameters = 0;
        for (const pattern_piece& p : made_.pieces) {
            if (p.what == pattern_piece::kind::literal) continue;
            if (p.name == name) refuse("two parameters are called " + std::string(name));
            ++parameters;
        }
        if (parameters == request::most_params) {
            refuse("it has more than " + std::to_string(request::most_params) + " parameters");
        }
        return std::string(name);
    }

    std::string_view text_;
    std::size_t at_ = 0;
    bool segment_has_parameter_ = false;
    pattern made_;
};

}  // namespace

pattern parse_pattern(std::string_view text) {
    return parser(text).parse();
}

std::vector<std::string> names_of(const pattern& p) {
    std::vector<std::string> names;
    for (const pattern_piece& piece : p.pieces) {
        if (piece.what != pattern_piece::kind::literal) names.push_back(piece.name);
    }
    return names;
}

void refuse_pattern(std::string_view pattern, std::string_view why) {
    std::string sentence = '"' + std::string(pattern) + "\": ";
    sentence += why;
    throw_exception(error(std::errc::invalid_argument, "route").on(sentence));
}

}  // namespace coracle::http::detail
