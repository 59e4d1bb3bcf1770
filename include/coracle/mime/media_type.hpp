#pragma once

#include <string_view>

namespace coracle::mime {

/// What `media_type_of` gives for names that it does not know.
inline constexpr std::string_view unknown_media_type = "application/octet-stream";

/// The media type (RFC 9110 section 8.3.1) of a file by the extension of its name or path, in any
/// case; text has "; charset=utf-8". The result lives forever. Safe from any thread.
[[nodiscard]] std::string_view media_type_of(std::string_view name) noexcept;

}  // namespace coracle::mime
