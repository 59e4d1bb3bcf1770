#pragma once

#include <coracle/base/percent.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::http::detail {

/// Percent-encodes a canonical path, or a part of one, in which "%2F" stands for itself.
std::string encode_canonical(std::string_view path, percent_set keep);

/// The rule of a path that leads to another one, made ready.
class path_pattern {
public:
    /// Throws `exception` (invalid_argument) naming what is malformed.
    path_pattern(std::string_view from, std::string_view to);

    /// The other path, nothing where `path` does not match. With `encodes` it is
    /// percent-encoded, the values behind "?" and "#" as those of a query; else all is as it was
    /// written.
    std::optional<std::string> apply(std::string_view path, bool encodes) const;
    /// Returns true if it leads to a URL, not a path.
    bool is_absolute() const noexcept { return is_absolute_; }

private:
    struct part {
        std::string text;  ///< a literal, or a name
        bool is_name = false;
        bool is_rest = false;
    };
    struct value {
        std::string_view name;
        std::string_view text;
    };

    static std::vector<part> split(std::string_view text, std::string_view whole);
    bool match(std::string_view path, std::vector<value>& found) const;
    const part* find(std::string_view name) const noexcept;

    std::vector<part> from_;  ///< a segment each
    std::vector<part> to_;    ///< literals and names, one after the other
    bool is_absolute_ = false;
};

}  // namespace coracle::http::detail
