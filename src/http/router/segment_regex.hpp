#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace re2 {
// NOLINTNEXTLINE(readability-identifier-naming)
class RE2;
}  // namespace re2

namespace coracle::http::detail {

/// The regular expression of a `{name:regex}`, a `{*name:regex}`, or of a segment with several
/// parameters: RE2's syntax, so that matching takes time linear in the text, whatever the
/// expression. Immutable; matched from several threads at once. Matching may throw
/// `std::bad_alloc`: RE2 builds its automaton as it goes.
class segment_regex {
public:
    /// Bytes of an expression.
    static constexpr std::size_t longest = 256;
    /// Groups of an expression that has named ones.
    static constexpr std::size_t most_groups = 32;
    /// Bytes that the program of an expression and its automaton may take.
    static constexpr std::size_t memory = 256 * 1024;

    /// Throws `exception` (invalid_argument) with what is wrong, in words, on `pattern`.
    segment_regex(std::string_view expression, std::string_view pattern);
    /// For several parameters: the match of the expression as a whole is no value.
    struct of_parts {};
    segment_regex(of_parts, std::string_view expression, std::string_view pattern);
    ~segment_regex();
    segment_regex(const segment_regex&) = delete;
    segment_regex& operator=(const segment_regex&) = delete;

    std::string_view text() const noexcept { return text_; }
    /// Returns true if it matches the whole of `text`.
    bool matches(std::string_view text) const;

    /// The names of its named groups, in their order.
    const std::vector<std::string>& groups() const noexcept { return groups_; }
    /// The number of values of `match`: the whole match, unless there are several parameters, and
    /// the named groups.
    std::size_t values() const noexcept { return groups_.size() + (of_parts_ ? 0 : 1); }
    /// Returns true if it matches the whole of `text`; then puts `values()` views into `out`. That
    /// of a group that took no part is empty.
    bool match(std::string_view text, std::string_view* out) const;

private:
    void compile(std::string_view pattern);

    std::string text_;
    bool of_parts_ = false;
    std::vector<std::string> groups_;
    std::vector<std::size_t> numbers_;  ///< of the groups
    std::unique_ptr<re2::RE2> compiled_;
};

}  // namespace coracle::http::detail
