#include "http/message/date.hpp"

#include "base/ascii.hpp"

#include <array>
#include <cstring>

namespace coracle::http {

namespace {

using coracle::detail::is_digit;
using coracle::detail::lower;

constexpr std::string_view day_names = "SunMonTueWedThuFriSat";
constexpr std::string_view month_names = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::array<std::string_view, 7> long_days{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                    "Thursday", "Friday", "Saturday"};
constexpr std::int64_t day_seconds = 86400;
constexpr std::int64_t cycle_days = 146097;  // 400 years of the Gregorian calendar

struct date_time {
    int year = 0;
    int month = 0;  // 1 to 12
    int day = 0;    // 1 to 31
    int hour = 0;
    int minute = 0;
    int second = 0;  // 60 in a leap second
};

bool is_leap(int year) noexcept {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int days_in_month(int year, int month) noexcept {
    constexpr std::array<int, 12> days{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return month == 2 && is_leap(year) ? 29 : days[static_cast<std::size_t>(month - 1)];
}

// Years counted from March, so that the leap day is the last of its year: month 0 is March, and its
// first day is day (153 * month + 2) / 5 of the year.
std::int64_t days_since_1970(int year, int month, int day) noexcept {
    const std::int64_t from_march = month >= 3 ? month - 3 : month + 9;
    const std::int64_t years = std::int64_t{month >= 3 ? year : year - 1} + 400;  // never negative
    const std::int64_t leap_days = years / 4 - years / 100 + years / 400;
    return years * 365 + leap_days + (153 * from_march + 2) / 5 + day - 1 - (719468 + cycle_days);
}

// The inverse; `days` is not before the year 0.
date_time date_of(std::int64_t days) noexcept {
    const std::int64_t since = days + 719468 + cycle_days;  // since March 1 of the year -400
    const std::int64_t cycle = since / cycle_days;
    const std::int64_t in_cycle = since % cycle_days;
    const std::int64_t year_in_cycle =
        (in_cycle - in_cycle / 1460 + in_cycle / 36524 - in_cycle / 146096) / 365;
    const std::int64_t day_of_year =
        in_cycle - (365 * year_in_cycle + year_in_cycle / 4 - year_in_cycle / 100);
    const std::int64_t from_march = (5 * day_of_year + 2) / 153;
    date_time result;
    result.day = static_cast<int>(day_of_year - (153 * from_march + 2) / 5 + 1);
    result.month = static_cast<int>(from_march < 10 ? from_march + 3 : from_march - 9);
    result.year = static_cast<int>(cycle * 400 - 400 + year_in_cycle) + (result.month <= 2 ? 1 : 0);
    return result;
}

// 0 is Sunday.
std::size_t weekday_of(std::int64_t days) noexcept {
    return static_cast<std::size_t>(((days % 7) + 11) % 7);
}

void put_digits(char* out, int value, int count) noexcept {
    for (int i = count; i-- > 0; value /= 10) {
        out[i] = static_cast<char>('0' + value % 10);
    }
}

// Reads a date from left to right; after the first mismatch everything fails.
class reader {
public:
    explicit reader(std::string_view text) noexcept : rest_{text} {}

    void literal(std::string_view expected) noexcept {
        good_ = good_ && rest_.starts_with(expected);
        drop(expected.size());
    }

    int number(std::size_t digits) noexcept {
        int value = 0;
        good_ = good_ && rest_.size() >= digits;
        for (std::size_t i = 0; good_ && i < digits; ++i) {
            good_ = rest_[i] >= '0' && rest_[i] <= '9';
            value = value * 10 + (rest_[i] - '0');
        }
        drop(digits);
        return value;
    }

    // The day of asctime: two digits, or a space and one.
    int padded_day() noexcept {
        if (good_ && rest_.starts_with(' ')) {
            drop(1);
            return number(1);
        }
        return number(2);
    }

    // Reads one of the three-letter `names`; returns its index.
    int name(std::string_view names) noexcept {
        if (good_ && rest_.size() >= 3) {
            for (std::size_t i = 0; i < names.size(); i += 3) {
                if (rest_.substr(0, 3) == names.substr(i, 3)) {
                    drop(3);
                    return static_cast<int>(i / 3);
                }
            }
        }
        good_ = false;
        return 0;
    }

    void time(date_time& out) noexcept {
        out.hour = number(2);
        literal(":");
        out.minute = number(2);
        literal(":");
        out.second = number(2);
    }

    bool finished() const noexcept { return good_ && rest_.empty(); }

private:
    void drop(std::size_t count) noexcept {
        rest_ = good_ ? rest_.substr(count) : std::string_view{};
    }

    std::string_view rest_;
    bool good_ = true;
};

std::optional<std::int64_t> to_seconds(const date_time& date, int weekday) noexcept {
    const bool valid = date.month >= 1 && date.day >= 1 &&
                       date.day <= days_in_month(date.year, date.month) && date.hour <= 23 &&
                       date.minute <= 59 && date.second <= 60;
    if (!valid) {
        return std::nullopt;
    }
    const std::int64_t days = days_since_1970(date.year, date.month, date.day);
    if (weekday >= 0 && weekday_of(days) != static_cast<std::size_t>(weekday)) {
        return std::nullopt;
    }
    return days * day_seconds + date.hour * 3600 + date.minute * 60 + date.second;
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<std::int64_t> parse_imf_fixdate(std::string_view text) noexcept {
    reader in{text};
    date_time date;
    const int weekday = in.name(day_names);
    in.literal(", ");
    date.day = in.number(2);
    in.literal(" ");
    date.month = in.name(month_names) + 1;
    in.literal(" ");
    date.year = in.number(4);
    in.literal(" ");
    in.time(date);
    in.literal(" GMT");
    return in.finished() ? to_seconds(date, weekday) : std::nullopt;
}

// "Sunday, 06-Nov-94 08:49:37 GMT". The weekday depends on the century meant, so it is not checked.
std::optional<std::int64_t> parse_rfc_850(std::string_view text) noexcept {
    const std::string_view day_name = text.substr(0, text.find(','));
    bool known = false;
    for (const std::string_view name : long_days) {
        known = known || name == day_name;
    }
    if (!known) {
        return std::nullopt;
    }
    reader in{text.substr(day_name.size())};
    date_time date;
    in.literal(", ");
    date.day = in.number(2);
    in.literal("-");
    date.month = in.name(month_names) + 1;
    in.literal("-");
    const int year = in.number(2);
    date.year = year < 70 ? 2000 + year : 1900 + year;
    in.literal(" ");
    in.time(date);
    in.literal(" GMT");
    return in.finished() ? to_seconds(date, -1) : std::nullopt;
}

// "Sun Nov  6 08:49:37 1994"
std::optional<std::int64_t> parse_asctime(std::string_view text) noexcept {
    reader in{text};
    date_time date;
    const int weekday = in.name(day_names);
    in.literal(" ");
    date.month = in.name(month_names) + 1;
    in.literal(" ");
    date.day = in.padded_day();
    in.literal(" ");
    in.time(date);
    in.literal(" ");
    date.year = in.number(4);
    return in.finished() ? to_seconds(date, weekday) : std::nullopt;
}

// RFC 6265bis section 5.1.1. A colon is none, for it belongs to times.
bool is_date_delimiter(char c) noexcept {
    return c == '\t' || (c >= ' ' && c <= '/') || (c >= ';' && c <= '@') ||
           (c >= '[' && c <= '`') || (c >= '{' && c <= '~');
}

// Takes a number of `least` to `most` digits; -1, and nothing is taken, where there is none.
int take_number(std::string_view& text, std::size_t least, std::size_t most) noexcept {
    int value = 0;
    std::size_t size = 0;
    for (; size != text.size() && is_digit(text[size]); ++size) {
        if (size == most) return -1;
        value = value * 10 + (text[size] - '0');
    }
    if (size < least) return -1;
    text.remove_prefix(size);
    return value;
}

// The parts of a cookie's date that were found so far.
class cookie_date {
public:
    // Each production is looked for until it was found, in this order.
    void take(std::string_view token) noexcept {
        static_cast<void>((!has_time_ && take_time(token)) || (date_.day == 0 && take_day(token)) ||
                          (date_.month == 0 && take_month(token)) ||
                          (!has_year_ && take_year(token)));
    }

    std::optional<std::int64_t> value() const noexcept {
        const bool complete = has_time_ && has_year_ && date_.year >= 1601 && date_.second <= 59;
        return complete ? to_seconds(date_, -1) : std::nullopt;
    }

private:
    bool take_time(std::string_view token) noexcept {
        int parts[3];
        for (std::size_t i = 0; i != 3; ++i) {
            if (i != 0 && !token.starts_with(':')) return false;
            if (i != 0) token.remove_prefix(1);
            parts[i] = take_number(token, 1, 2);
            if (parts[i] < 0) return false;
        }
        date_.hour = parts[0];
        date_.minute = parts[1];
        date_.second = parts[2];
        return has_time_ = true;
    }

    // A day of 0 is one that does not exist; 32 stands for it.
    bool take_day(std::string_view token) noexcept {
        const int day = take_number(token, 1, 2);
        if (day >= 0) date_.day = day == 0 ? 32 : day;
        return day >= 0;
    }

    bool take_month(std::string_view token) noexcept {
        for (std::size_t i = 0; token.size() >= 3 && i != 12; ++i) {
            const std::string_view name = month_names.substr(i * 3, 3);
            bool same = true;
            for (std::size_t k = 0; k != 3; ++k) {
                same = same && lower(token[k]) == lower(name[k]);
            }
            if (same) {
                date_.month = static_cast<int>(i) + 1;
                return true;
            }
        }
        return false;
    }

    bool take_year(std::string_view token) noexcept {
        const int year = take_number(token, 2, 4);
        if (year < 0) return false;
        date_.year = year >= 100 ? year : year >= 70 ? 1900 + year : 2000 + year;
        return has_year_ = true;
    }

    date_time date_;
    bool has_time_ = false;
    bool has_year_ = false;
};

}  // namespace

void format_http_date(char out[http_date_size], std::int64_t unix_seconds) noexcept {
    constexpr std::int64_t first = -62167219200;  // 0000-01-01T00:00:00Z
    constexpr std::int64_t last = 253402300799;   // 9999-12-31T23:59:59Z
    const std::int64_t clamped = unix_seconds < first  ? first
                                 : unix_seconds > last ? last
                                                       : unix_seconds;
    const std::int64_t in_day = (clamped % day_seconds + day_seconds) % day_seconds;
    const std::int64_t days = (clamped - in_day) / day_seconds;
    const date_time date = date_of(days);
    const auto second = static_cast<int>(in_day);
    std::memcpy(out, "Sun, 06 Nov 1994 08:49:37 GMT", http_date_size);
    std::memcpy(out, day_names.data() + weekday_of(days) * 3, 3);
    put_digits(out + 5, date.day, 2);
    std::memcpy(out + 8, month_names.data() + (date.month - 1) * 3, 3);
    put_digits(out + 12, date.year, 4);
    put_digits(out + 17, second / 3600, 2);
    put_digits(out + 20, second / 60 % 60, 2);
    put_digits(out + 23, second % 60, 2);
}

std::string format_http_date(std::chrono::sys_seconds time) {
    char text[http_date_size];
    format_http_date(text, time.time_since_epoch().count());
    return {text, http_date_size};
}

std::optional<std::int64_t> parse_http_date(std::string_view text) noexcept {
    if (text.size() < 4) {
        return std::nullopt;
    }
    return text[3] == ','   ? parse_imf_fixdate(text)
           : text[3] == ' ' ? parse_asctime(text)
                            : parse_rfc_850(text);
}

std::optional<std::int64_t> parse_cookie_date(std::string_view text) noexcept {
    cookie_date date;
    for (std::size_t begin = 0; begin < text.size();) {
        std::size_t end = begin;
        while (end != text.size() && !is_date_delimiter(text[end])) ++end;
        if (end != begin) date.take(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return date.value();
}

}  // namespace coracle::http
