#pragma once

#include <coracle/http/cookie_jar.hpp>

#include <optional>
#include <string>
#include <string_view>

// Netscape's cookies.txt: a line a cookie, seven fields with tabs between them.
namespace coracle::http::detail {

/// What such a file begins with.
inline constexpr std::string_view cookie_file_title = "# Netscape HTTP Cookie File\n";

/// Whether the cookie comes back from its line.
bool fits_cookie_line(const stored_cookie& c) noexcept;

void append_cookie_line(std::string& out, const stored_cookie& c);

/// Nothing for comments, empty lines and what has too few fields.
std::optional<stored_cookie> read_cookie_line(std::string_view line);

}  // namespace coracle::http::detail
