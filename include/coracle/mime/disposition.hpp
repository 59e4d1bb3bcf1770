#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace coracle::mime {

/// The value of a Content-Disposition field (RFC 6266, RFC 7578 section 4.2).
struct content_disposition {
    std::string type;                     ///< "form-data", "attachment", "inline"; lower case
    std::optional<std::string> name;      ///< of the field of a form
    std::optional<std::string> filename;  ///< as the sender gave it: any bytes, any path

    friend bool operator==(const content_disposition&, const content_disposition&) = default;
};

/// Reads a Content-Disposition as browsers, curl and mail programs write it; nothing when it is
/// malformed. In a quoted string `\"`, `\\`, "%22", "%0D" and "%0A" stand for what they hide; other
/// backslashes are themselves. `filename*` (RFC 8187, UTF-8 or ISO-8859-1) is preferred over
/// `filename`, and passed over when it is malformed.
[[nodiscard]] std::optional<content_disposition> parse_disposition(std::string_view text);

/// Writes one: names as browsers do in a form (the URL standard's sibling for forms: `"`, CR and LF
/// as "%22", "%0D" and "%0A"). For any other type a file name that is not plain ASCII is given
/// twice, as `filename` with "_" for what is not and as `filename*`.
[[nodiscard]] std::string format_disposition(const content_disposition& d);

/// The value of an extended parameter (RFC 8187 section 3.2.1), `UTF-8'en'%c2%a3`, as UTF-8;
/// nothing when it is malformed or in another charset than UTF-8 and ISO-8859-1.
[[nodiscard]] std::optional<std::string> decode_extended_value(std::string_view text);
/// `text`, UTF-8, as such a value.
[[nodiscard]] std::string encode_extended_value(std::string_view text);

/// What may be used as the name of a file beneath a directory, made of what a client sent: the last
/// segment behind any "/" or "\", without control bytes and the bytes that are no UTF-8, without
/// dots and spaces at its beginning and its end, at most 255 bytes, cut between characters with
/// its extension kept. Empty when nothing is left: then choose a name.
[[nodiscard]] std::string safe_filename(std::string_view sent);

}  // namespace coracle::mime
