#pragma once

#include <string_view>

namespace coracle::http {

/// Returns true if `text` is a token (RFC 9110 section 5.6.2): methods and field names are tokens.
/// An empty text is none.
[[nodiscard]] bool is_token(std::string_view text) noexcept;

/// Returns true if `text` is a token without capital letters: the names of fields in HTTP/2
/// (RFC 9113 section 8.2.1).
[[nodiscard]] bool is_lower_token(std::string_view text) noexcept;

/// Returns true if `text` may stand as the value of a field (RFC 9110 section 5.5): visible ASCII,
/// obs-text, and spaces and tabs between them. No CR, LF, NUL or other control byte, so a value
/// that passes cannot end its line. An empty text may.
[[nodiscard]] bool is_field_value(std::string_view text) noexcept;

/// Returns true if `text` may stand as a reason phrase (RFC 9112 section 4).
[[nodiscard]] bool is_reason_phrase(std::string_view text) noexcept;

/// Returns true if `text` may stand as the target of a request line: visible bytes but for "#",
/// "<", ">" and the double quote, at least one. Those beyond ASCII are no part of a URI (RFC 3986),
/// but curl sends a query as it was typed.
[[nodiscard]] bool is_target(std::string_view text) noexcept;

/// `text` without the spaces and tabs at its ends (OWS, RFC 9110 section 5.6.3).
[[nodiscard]] std::string_view trim_ows(std::string_view text) noexcept;

/// Returns true if two texts are equal when ASCII letters are compared without case.
[[nodiscard]] bool equal_ignoring_case(std::string_view left, std::string_view right) noexcept;

}  // namespace coracle::http
