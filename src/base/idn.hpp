#pragma once

#include <string>
#include <string_view>

namespace coracle::detail {

/// Appends the name of a host in the form that resolvers know (RFC 5891, Punycode), mapped as in
/// UTS #46, non-transitional: letters become small, full-width forms plain. False, with nothing
/// appended, for what is no UTF-8 or no name. What comes out may be anything that ASCII has, so the
/// caller looks at it again.
bool append_ascii_name(std::string& out, std::string_view utf8);

}  // namespace coracle::detail
