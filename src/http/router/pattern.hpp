#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

class segment_regex;

/// What a `{*name}` takes, the narrower ones first.
enum class rest_policy : std::uint8_t {
    segment,  ///< `{*name:segment}`: one segment, which may be empty
    safe,     ///< `{*name:safe}`: no "..", NUL, backslash or encoded slash
    any,      ///< `{*name}`: all
};
inline constexpr std::size_t rest_policies = 3;

struct pattern_piece {
    enum class kind : std::uint8_t { literal, parameter, rest };

    kind what = kind::literal;
    std::string text;  ///< of a literal; of a parameter, what follows it in its segment
    std::string name;
    std::shared_ptr<const segment_regex> regex;  ///< of a parameter, or null
    rest_policy policy = rest_policy::any;
};

/// A pattern in its parts. Literals hold slashes: "/a/b/{c}" is a literal and a parameter.
struct pattern {
    /// Bytes of a pattern. It bounds how deep a search nests.
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
