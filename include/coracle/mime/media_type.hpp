#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// The media type that `media_type_of` returns for unknown names.
inline constexpr std::string_view unknown_media_type = "application/octet-stream";

/// Returns the media type (RFC 9110 section 8.3.1) of a file by the extension of its name or path,
/// in any case; text types have "; charset=utf-8". The result is valid forever. Safe from any
/// thread.
[[nodiscard]] std::string_view media_type_of(std::string_view name) noexcept;

/// A parameter of a field's value, such as "charset=utf-8".
struct parameter {
    std::string name;   ///< lower case
    std::string value;  ///< without its quotes

    friend bool operator==(const parameter&, const parameter&) = default;
};

/// A media type with its parameters (RFC 9110 section 8.3.1).
struct media_type {
    std::string essence;  ///< "text/html", lower case
    std::vector<parameter> parameters;

    std::string_view type() const noexcept {
        return std::string_view(essence).substr(0, essence.find('/'));
    }
    std::string_view subtype() const noexcept {
        return std::string_view(essence).substr(essence.find('/') + 1);
    }
    /// Returns the first parameter of this name; `name` is in lower case.
    std::optional<std::string_view> get(std::string_view name) const noexcept;
};

/// Parses the value of Content-Type, such as `text/html; charset="utf-8"`; returns nothing when it
/// is malformed. Leaves out parameters without a value.
[[nodiscard]] std::optional<media_type> parse_media_type(std::string_view text);

}  // namespace coracle::mime
