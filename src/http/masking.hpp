#pragma once

#include <coracle/http/field.hpp>

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// Returns true if a field, or a part of a query, has the name of a secret.
bool names_a_secret(std::string_view name) noexcept;

/// A URL as it may be seen: without user and password, and without the secrets of its query.
std::string masked_url(std::string_view text);
/// As above: `text` itself where nothing of it is hidden, else in `room`.
std::string_view masked_url(std::string_view text, std::string& room);

/// The value of a field as it may be seen.
std::string masked_field(std::string_view name, std::string_view value);
/// As above, where one that was marked as a secret is one.
std::string masked_field(const field& f);

}  // namespace coracle::http::detail
