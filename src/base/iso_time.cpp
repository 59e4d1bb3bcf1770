#include "base/iso_time.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace coracle::detail {
namespace {

char* put_padded(char* to, std::int64_t number, std::ptrdiff_t digits) noexcept {
    char text[20];
    const char* const end = std::to_chars(text, text + sizeof text, number).ptr;
    for (std::ptrdiff_t n = end - text; n < digits; ++n) *to++ = '0';
    return std::copy(static_cast<const char*>(text), end, to);
}

}  // namespace

char* write_iso_time(char* to, std::int64_t unix_time) noexcept {
    const std::chrono::sys_seconds at{std::chrono::seconds(unix_time)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(at - day);
    to = put_padded(to, static_cast<int>(date.year()), 4);
    *to++ = '-';
    to = put_padded(to, static_cast<unsigned>(date.month()), 2);
    *to++ = '-';
    to = put_padded(to, static_cast<unsigned>(date.day()), 2);
    *to++ = 'T';
    to = put_padded(to, time.hours().count(), 2);
    *to++ = ':';
    to = put_padded(to, time.minutes().count(), 2);
    *to++ = ':';
    to = put_padded(to, time.seconds().count(), 2);
    *to++ = 'Z';
    return to;
}

void append_iso_time(std::string& out, std::int64_t unix_time) {
    char text[longest_iso_time];
    out.append(text, write_iso_time(text, unix_time));
}

}  // namespace coracle::detail
