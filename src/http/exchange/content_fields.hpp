#pragma once

#include <coracle/http/field_id.hpp>
#include <coracle/http/fields.hpp>

#include <optional>
#include <string_view>

namespace coracle::http::detail {

/// Returns true for a field about a content (RFC 9110 section 8, RFC 9530). One of a policy is
/// about the page.
bool is_content_field(std::string_view name) noexcept;

/// Removes the fields about a content, but for one.
void drop_content_fields(fields& all, std::optional<field_id> kept = {});

}  // namespace coracle::http::detail
