#pragma once

#include <coracle/http/cookie_jar.hpp>

#include <optional>
#include <string>
#include <string_view>

// Netscape's cookies.txt: one line for each cookie, with seven fields separated by tabs.
namespace coracle::http::detail {

/// The first line of such a file.
inline constexpr std::string_view cookie_file_title = "# Netscape HTTP Cookie File\n";

/// Returns true if the cookie can be written as a line and read back.
bool fits_cookie_line(const stored_cookie& c) noexcept;

void append_cookie_line(std::string& out, const stored_cookie& c);

/// Returns nothing for comments, empty lines and lines with too few fields.
std::optional<stored_cookie> read_cookie_line(std::string_view line);

}  // namespace coracle::http::detail
