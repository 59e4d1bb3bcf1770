#include "base/iso_time.hpp"

#include <chrono>

namespace coracle::detail {
namespace {

void append_padded(std::string& out, std::int64_t number, std::size_t digits) {
    const std::string text = std::to_string(number);
    if (text.size() < digits) out.append(digits - text.size(), '0');
    out += text;
}

}  // namespace

void append_iso_time(std::string& out, std::int64_t unix_time) {
    const std::chrono::sys_seconds at{std::chrono::seconds(unix_time)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day date(day);
    const std::chrono::hh_mm_ss time(at - day);
    append_padded(out, static_cast<int>(date.year()), 4);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.month()), 2);
    out += '-';
    append_padded(out, static_cast<unsigned>(date.day()), 2);
    out += 'T';
    append_padded(out, time.hours().count(), 2);
    out += ':';
    append_padded(out, time.minutes().count(), 2);
    out += ':';
    append_padded(out, time.seconds().count(), 2);
    out += 'Z';
}

}  // namespace coracle::detail
