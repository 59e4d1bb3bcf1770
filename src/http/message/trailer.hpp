#pragma once

#include <coracle/http/field_id.hpp>

namespace coracle::http {

/// Returns true if a field may be a trailer: not those that frame or route a message, control the
/// response to it, authenticate, or say how its content is to be read (RFC 9110 section 6.5.1).
[[nodiscard]] bool may_be_trailer(field_id id) noexcept;

}  // namespace coracle::http
