#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}

namespace coracle::http::detail {

/// The regular expression of a `{name:regex}`: RE2's syntax, so that matching takes time linear in
/// the segment, whatever the expression. Immutable; matched from several threads at once.
class segment_regex {
public:
    /// Bytes of an expression.
    static constexpr std::size_t longest = 256;
    /// Bytes that the program of an expression and its automaton may take.
    static constexpr std::size_t memory = 256 * 1024;

    /// Throws `exception` (invalid_argument) with what is wrong, in words, on `pattern`.
    segment_regex(std::string_view expression, std::string_view pattern);
    ~segment_regex();
    segment_regex(const segment_regex&) = delete;
    segment_regex& operator=(const segment_regex&) = delete;

    std::string_view text() const noexcept { return text_; }
    /// Whether it matches the whole of `segment`.
    bool matches(std::string_view segment) const noexcept;

private:
    std::string text_;
    std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace coracle::http::detail
