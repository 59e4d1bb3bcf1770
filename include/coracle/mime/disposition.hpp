#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime {

/// The value of a Content-Disposition field (RFC 6266, RFC 7578 section 4.2).
struct content_disposition {
    std::string type;                     ///< "form-data", "attachment", "inline"; lower case
    std::optional<std::string> name;      ///< of the field of a form
    std::optional<std::string> filename;  ///< as sent: any bytes, any path

    friend bool operator==(const content_disposition&, const content_disposition&) = default;
};

/// Parses a Content-Disposition as browsers, curl and mail programs write it; returns nothing when
/// it is malformed. In a quoted string `\"`, `\\`, "%22", "%0D" and "%0A" are decoded; other
/// backslashes stay. `filename*` (RFC 8187, UTF-8 or ISO-8859-1) is preferred over `filename`, and
/// ignored when it is malformed.
[[nodiscard]] std::optional<content_disposition> parse_disposition(std::string_view text);

/// Returns `d` as text. In a form names are written as browsers do (HTML standard: `"`, CR and LF
/// as "%22", "%0D" and "%0A"), and a backslash that would begin an escape is doubled. For other
/// types a file name beyond ASCII is written twice: as
/// `filename` with "_" in place of other characters, and as `filename*`.
[[nodiscard]] std::string format_disposition(const content_disposition& d);

/// Decodes the value of an extended parameter (RFC 8187 section 3.2.1), `UTF-8'en'%c2%a3`, to
/// UTF-8; returns nothing when it is malformed or in another charset than UTF-8 and ISO-8859-1.
[[nodiscard]] std::optional<std::string> decode_extended_value(std::string_view text);
/// Returns `text`, UTF-8, as such a value.
[[nodiscard]] std::string encode_extended_value(std::string_view text);

/// Makes a safe name for a file in a directory out of a name that a client sent: the last segment
/// after any "/" or "\", without control bytes and invalid UTF-8, without dots and spaces at both
/// ends, at most 255 bytes, shortened between characters and before its extension. Returns an empty
/// string when nothing is left: then choose a name.
[[nodiscard]] std::string safe_filename(std::string_view sent);

}  // namespace coracle::mime
