#pragma once

#include <coracle/mime/media_type.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::mime {

/// Appends "; name=value" to the value of a field of mail (RFC 2231): a token, a quoted string, or
/// percent-encoded UTF-8, cut into numbered pieces of at most 76 characters where it is long.
/// `name` is a token. CR, LF and NUL in the value are encoded.
void append_parameter(std::string& field_value, std::string_view name, std::string_view value);

/// Parses the parameters of a field's value (the text after "text/plain" or "attachment"), joins
/// their pieces and decodes their charsets to UTF-8 (RFC 2231). Names are in lower case, in the
/// order of their first appearance. Encoded words, which RFC 2047 forbids here but which are
/// common, are decoded too. Values in an unknown charset stay encoded. Returns nothing when the
/// text is malformed.
[[nodiscard]] std::optional<std::vector<parameter>> parse_parameters(std::string_view text);

}  // namespace coracle::mime
