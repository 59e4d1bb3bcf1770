#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// What `media_type_of` gives for names that it does not know.
inline constexpr std::string_view unknown_media_type = "application/octet-stream";

/// The media type (RFC 9110 section 8.3.1) of a file by the extension of its name or path, in any
/// case; text has "; charset=utf-8". The result lives forever. Safe from any thread.
[[nodiscard]] std::string_view media_type_of(std::string_view name) noexcept;

/// A parameter of a field's value, as of a media type.
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
    /// The first parameter of this name, which is given in lower case.
    std::optional<std::string_view> get(std::string_view name) const noexcept;
};

/// Reads `text/html; charset="utf-8"`, the value of Content-Type; nothing when it is malformed.
/// Parameters without a value are left out.
[[nodiscard]] std::optional<media_type> parse_media_type(std::string_view text);

}  // namespace coracle::mime
