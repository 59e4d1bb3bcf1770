#pragma once

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The page as HTML, with `title` as its heading. It asks for its events below its own path.
std::string dashboard_page(std::string_view title);

}  // namespace coracle::http::detail
