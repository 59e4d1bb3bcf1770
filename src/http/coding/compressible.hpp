#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Whether content of this media type (parameters are ignored) becomes smaller when compressed:
/// text, JSON, XML, scripts, SVG, WebAssembly, uncompressed fonts and bitmaps. Not what is
/// compressed in itself, and not what is unknown.
bool is_compressible(std::string_view media_type) noexcept;

/// Whether a media type (parameters are ignored) is `pattern`: "type/subtype" or "type/*".
bool matches_media_type(std::string_view media_type, std::string_view pattern) noexcept;

}  // namespace coracle::http::detail
