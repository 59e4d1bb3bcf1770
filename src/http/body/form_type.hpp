#pragma once

#include <string_view>

namespace coracle::http::detail {

/// Returns true for the media type of a form's pairs, application/x-www-form-urlencoded, in UTF-8.
bool is_form(std::string_view content_type);

}  // namespace coracle::http::detail
