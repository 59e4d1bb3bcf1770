#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Appends a host name in the form for resolvers (RFC 5891, Punycode), mapped by UTS #46,
/// non-transitional: lower case, full-width forms to plain ones. Returns false, and appends
/// nothing, for invalid UTF-8 or an invalid name. The result may have any ASCII characters, so the
/// caller must check it.
bool append_ascii_name(std::string& out, std::string_view utf8);

}  // namespace coracle::detail
