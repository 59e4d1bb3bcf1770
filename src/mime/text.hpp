#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::mime::detail {

/// Returns true if all of `text` is UTF-8 (RFC 3629).
bool is_utf8(std::string_view text) noexcept;
bool is_ascii(std::string_view text) noexcept;
/// Converts ISO-8859-1 to UTF-8.
std::string latin_to_utf8(std::string_view text);
/// Returns all of `text`, which is not empty, as encoded words: see `encode_words`.
std::string encode_all(std::string_view text, std::size_t column = 0);

}  // namespace coracle::mime::detail
