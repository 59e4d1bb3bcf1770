#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace coracle::mime {

/// Returns `text`, UTF-8, as ASCII for an unstructured field (Subject) or a display name. Where it
/// has bytes beyond printable ASCII, blanks at its ends or anything that looks like an encoded
/// word, it becomes encoded words (RFC 2047), in base64 or "Q", whichever is shorter; the rest is
/// unchanged. Each encoded word has at most 75 characters and whole UTF-8 characters; one space
/// separates two of them, at which a field may be folded. `column` is the number of characters
/// already on the first line.
[[nodiscard]] std::string encode_words(std::string_view text, std::size_t column = 0);

/// Returns `text` with its encoded words decoded to UTF-8, without the blanks between two of them.
/// UTF-8, US-ASCII and ISO-8859-1 are known; words in other charsets, and malformed ones, stay as
/// they are. Invalid UTF-8 becomes U+FFFD. Never fails.
[[nodiscard]] std::string decode_words(std::string_view text);

}  // namespace coracle::mime
