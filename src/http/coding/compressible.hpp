#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true if content of this media type (parameters are ignored) becomes smaller when
/// compressed: text, JSON, XML, scripts, SVG, WebAssembly, uncompressed fonts and bitmaps. False
/// for types that are compressed in themselves, and for unknown ones.
bool is_compressible(std::string_view media_type) noexcept;

/// Returns true if a media type (parameters are ignored) is `pattern`: "type/subtype" or "type/*".
bool matches_media_type(std::string_view media_type, std::string_view pattern) noexcept;

}  // namespace coracle::http::detail
