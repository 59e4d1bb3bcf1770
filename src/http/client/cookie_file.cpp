#include "http/client/cookie_file.hpp"

#include "base/ascii.hpp"
#include "http/message/token.hpp"

#include <charconv>

namespace coracle::http::detail {
namespace {

// The mark of curl for HttpOnly cookies, a comment for other programs.
constexpr std::string_view http_only_mark = "#HttpOnly_";

bool has_tab(std::string_view text) noexcept {
    return text.find('\t') != std::string_view::npos;
}

std::string_view flag(bool on) noexcept {
    return on ? "\tTRUE" : "\tFALSE";
}

/// Some programs write fractions of seconds.
std::optional<std::int64_t> read_time(std::string_view text) noexcept {
    std::int64_t seconds = 0;
    const char* const end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, seconds);
    if (failure != std::errc() || (stop != end && *stop != '.')) return std::nullopt;
    return seconds;
}

}  // namespace

bool fits_cookie_line(const stored_cookie& c) noexcept {
    return !has_tab(c.name) && !has_tab(c.value) && !has_tab(c.path);
}

void append_cookie_line(std::string& out, const stored_cookie& c) {
    if (c.http_only) out += http_only_mark;
    if (!c.host_only) out += '.';
    out.append(c.domain).append(flag(!c.host_only)).append("\t").append(c.path);
    out.append(flag(c.secure)).append("\t").append(std::to_string(c.expires.value_or(0)));
    out.append("\t").append(c.name).append("\t").append(c.value).append("\n");
}

std::optional<stored_cookie> read_cookie_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    stored_cookie c;
    c.http_only = line.starts_with(http_only_mark);
    if (c.http_only) line.remove_prefix(http_only_mark.size());
    if (line.empty() || line.starts_with('#')) return std::nullopt;
    std::string_view fields[7];
    std::size_t count = 0;
    while (count != 7 && !line.empty()) {
        fields[count++] = coracle::detail::take_item(line, '\t');
    }
    const auto expires = read_time(fields[4]);
    // Without the seventh field the value is empty. More fields are an error.
    if (count < 6 || !line.empty() || !expires) return std::nullopt;
    c.domain = fields[0];
    c.host_only = !equal_ignoring_case(fields[1], "TRUE");
    c.path = fields[2];
    c.secure = equal_ignoring_case(fields[3], "TRUE");
    if (*expires != 0) c.expires = expires;
    c.name = fields[5];
    c.value = fields[6];
    return c;
}

}  // namespace coracle::http::detail
