#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// The URLs that one with patterns stands for, as curl has them: {one,two}, [1-100], [001-100],
/// [a-z], and steps, [0-100:10]. The pattern furthest right changes fastest. A backslash takes the
/// meaning off the bracket or brace after it; [::1] and [] stand for themselves.
class url_glob {
public:
    struct match {
        std::string url;
        std::vector<std::string> values;  ///< of each pattern, from left to right
    };

    /// Without `patterns` the text is one URL as it is. Throws `failure` for a pattern that is
    /// malformed, and where there are more than a million URLs.
    url_glob(std::string_view text, bool patterns);

    std::size_t size() const noexcept { return size_; }
    /// `i` is less than `size()`.
    match at(std::size_t i) const;

private:
    /// The text before a pattern, and the values of the pattern; none after the last one.
    struct part {
        std::string before;
        std::vector<std::string> values;
    };

    void read(std::string_view text);
    void add(std::vector<std::string> values);
    std::size_t set_at(std::size_t open);
    std::size_t range_at(std::size_t open);
    [[noreturn]] static void refuse(std::size_t at, const char* why);

    std::string_view text_;
    std::vector<part> parts_;
    std::size_t size_ = 1;
};

/// `name` with "#1" and the like replaced by what the pattern of that number stands for.
std::string with_values(std::string_view name, const std::vector<std::string>& values);

}  // namespace coracle::tool
