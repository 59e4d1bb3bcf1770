#pragma once

#include <coracle/http/fields.hpp>

#include <string_view>

namespace coracle::http::detail {

/// Returns true if the Upgrade fields of a request have all of `protocols`, a list that is not
/// empty (RFC 9110 section 7.8).
bool has_protocols(const fields& request, std::string_view protocols) noexcept;

}  // namespace coracle::http::detail
