#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class segment_regex;

/// The text that a `{*name}` takes, the narrower policies first.
enum class rest_policy : std::uint8_t {
    segment,  ///< `{*name:segment}`: one segment, which may be empty
    safe,     ///< `{*name:safe}`: no "..", NUL, backslash or encoded slash
    any,      ///< `{*name}` and `{*name:any}`: all
};
inline constexpr std::size_t rest_policies = 3;

struct pattern_piece {
    enum class kind : std::uint8_t { literal, parameter, rest };

    /// One of several parameters of a segment.
    struct part {
        std::string name;
        std::shared_ptr<const segment_regex> regex;  ///< or null
        std::string text;                            ///< the separator before the next one
    };

    kind what = kind::literal;
    std::string text;  ///< text of a literal; for a parameter, the text after it in its segment
    std::string name;  ///< empty with `parts`
    std::shared_ptr<const segment_regex> regex;  ///< expression of a parameter or a rest, or null
    rest_policy policy = rest_policy::any;       ///< policy of a rest without an expression
    /// The parts of a segment with several parameters, whose `regex` gives the values of all; else
    /// empty.
    std::vector<part> parts;
    /// The names of the groups of `regex`, in order.
    std::vector<std::string> captures;
};

/// A parsed pattern. Literals may contain slashes: "/a/b/{c}" is a literal and a parameter.
struct pattern {
    /// The most bytes of a pattern, which limits the depth of a search.
    static constexpr std::size_t longest = 1024;

    std::string text;
    std::vector<pattern_piece> pieces;
};

/// Throws `exception` (invalid_argument) with a sentence.
pattern parse_pattern(std::string_view text);

/// The names of its parameters, in order.
std::vector<std::string> names_of(const pattern& p);

[[noreturn]] void refuse_pattern(std::string_view pattern, std::string_view why);

}  // namespace coracle::http::detail
