#pragma once

#include <coracle/http/field_id.hpp>
#include <coracle/http/fields.hpp>

#include <memory>
#include <string_view>

namespace coracle::http {

/// Returns true if a field may be a trailer: not those that frame or route a message, control the
/// response to it, authenticate, or say how its content is to be read (RFC 9110 section 6.5.1).
[[nodiscard]] bool may_be_trailer(field_id id) noexcept;

/// Puts a field into a trailer section, which begins with the first one, in place of one of its
/// name. Throws `exception` (invalid_argument) when it is malformed, or may not be a trailer.
void set_trailer(std::unique_ptr<fields>& all, std::string_view name, std::string_view value);

}  // namespace coracle::http
