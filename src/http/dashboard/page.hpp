#pragma once

#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The page as HTML, with `title` as its heading, asking for its events at `path`.
std::string dashboard_page(std::string_view title, std::string_view path);

}  // namespace coracle::http::detail
