#include "base/ascii.hpp"
#include "mime/parameters.hpp"

#include <coracle/mime/date.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace coracle::mime {
namespace {

constexpr std::string_view days = "SunMonTueWedThuFriSat";
constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::int64_t first_second = -2'208'988'800;  // 1900
constexpr std::int64_t last_second = 253'402'300'799;  // the end of 9999
constexpr int longest_offset = 24 * 60 - 1;

void append_number(std::string& out, int value, int width) {
    char digits[12];
    const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
    out.append(static_cast<std::size_t>(std::max<std::ptrdiff_t>(width - (end - digits), 0)), '0');
    out.append(digits, end);
}

/// Splits a date into its tokens, without comments and blanks.
class token_reader {
public:
    explicit token_reader(std::string_view text) noexcept : rest_(text) {}

    bool at_end() noexcept {
        skip();
        return rest_.empty() && !in_comment_;
    }
    bool take(char c) noexcept {
        skip();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view word() noexcept {
        skip();
        return taken(
            std::ranges::find_if(rest_, [](char c) { return !coracle::detail::is_letter(c); }));
    }
    /// Reads a number; -1: there is none, or it has too many digits.
    int number(std::size_t least, std::size_t most, std::size_t* digits = nullptr) noexcept {
        skip();
        const std::string_view text = taken(
            std::ranges::find_if(rest_, [](char c) { return !coracle::detail::is_digit(c); }));
        if (text.size() < least || text.size() > most) return -1;
        int value = 0;
        for (const char c : text) value = value * 10 + (c - '0');
        if (digits != nullptr) *digits = text.size();
        return value;
    }

private:
    void skip() noexcept {
        unsigned depth = 0;
        while (!rest_.empty()) {
            const char c = rest_.front();
            // A quoted pair (RFC 5322 section 3.2.1).
            if (depth != 0 && c == '\\' && rest_.size() > 1) {
                rest_.remove_prefix(1);
            } else if (c == '(') {
                ++depth;
            } else if (c == ')' && depth != 0) {
                --depth;
            } else if (depth == 0 && std::string_view(" \t\r\n").find(c) == rest_.npos) {
                return;
            }
            rest_.remove_prefix(1);
        }
        in_comment_ = in_comment_ || depth != 0;
    }
    std::string_view taken(std::string_view::iterator end) noexcept {
        const auto size = static_cast<std::size_t>(end - rest_.begin());
        const std::string_view text = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return text;
    }

    std::string_view rest_;
    bool in_comment_ = false;  ///< that ends nowhere
};

// Returns the index of a name of three letters in a list of such names, or -1.
int index_of(std::string_view list, std::string_view name) noexcept {
    for (std::size_t at = 0; at < list.size(); at += 3) {
        if (detail::equal_ignoring_case(list.substr(at, 3), name)) return static_cast<int>(at / 3);
    }
    return -1;
}

// RFC 5322 section 4.3: hours west of UTC.
int zone_offset(std::string_view name) noexcept {
    constexpr struct {
        std::string_view name;
        int hours;
    } zones[] = {{"EDT", 4}, {"EST", 5}, {"CDT", 5}, {"CST", 6},
                 {"MDT", 6}, {"MST", 7}, {"PDT", 7}, {"PST", 8}};
    for (const auto& z : zones) {
        if (detail::equal_ignoring_case(z.name, name)) return -z.hours * 60;
    }
    return 0;
}

std::optional<int> read_zone(token_reader& in) {
    const bool west = in.take('-');
    if (west || in.take('+')) {
        const int text = in.number(4, 4);
        const int minutes = text / 100 * 60 + text % 100;
        if (text < 0 || text % 100 > 59 || minutes > longest_offset) return std::nullopt;
        return west ? -minutes : minutes;
    }
    return zone_offset(in.word());
}

// RFC 5322 section 4.3.
int whole_year(int year, std::size_t digits) noexcept {
    if (digits == 2) return year < 50 ? 2000 + year : 1900 + year;
    return digits == 3 ? 1900 + year : year;
}

}  // namespace

std::string format_date(const date& when) {
    const int offset = std::clamp(when.offset, -longest_offset, longest_offset);
    const std::int64_t local =
        std::clamp(std::clamp(when.unix_time, first_second, last_second) + offset * 60,
                   first_second, last_second);
    const std::chrono::sys_seconds at{std::chrono::seconds(local)};
    const auto day = std::chrono::floor<std::chrono::days>(at);
    const std::chrono::year_month_day ymd(day);
    const std::chrono::hh_mm_ss time(at - day);
    std::string out(mime::days.substr(std::chrono::weekday(day).c_encoding() * 3, 3));
    out += ", ";
    append_number(out, static_cast<int>(static_cast<unsigned>(ymd.day())), 2);
    out += ' ';
    out += mime::months.substr((static_cast<unsigned>(ymd.month()) - 1) * 3, 3);
    out += ' ';
    append_number(out, static_cast<int>(ymd.year()), 4);
    const int parts[] = {static_cast<int>(time.hours().count()),
                         static_cast<int>(time.minutes().count()),
                         static_cast<int>(time.seconds().count())};
    char before = ' ';
    for (const int part : parts) {
        out += before;
        append_number(out, part, 2);
        before = ':';
    }
    out += offset < 0 ? " -" : " +";
    const int minutes = offset < 0 ? -offset : offset;
    append_number(out, minutes / 60 * 100 + minutes % 60, 4);
    return out;
}

std::optional<date> parse_date(std::string_view text) {
    token_reader in(text);
    const std::string_view name = in.word();
    if (!name.empty() && (index_of(mime::days, name) < 0 || !in.take(','))) return std::nullopt;
    const int day = in.number(1, 2);
    const int month = index_of(mime::months, in.word());
    std::size_t digits = 0;
    const int year = in.number(2, 4, &digits);
    const int hour = in.number(1, 2);
    if (day < 0 || month < 0 || year < 0 || hour < 0 || hour > 23 || !in.take(':')) {
        return std::nullopt;
    }
    const int minute = in.number(2, 2);
    const int second = in.take(':') ? in.number(2, 2) : 0;
    if (minute < 0 || minute > 59 || second < 0 || second > 60) return std::nullopt;
    const auto offset = read_zone(in);
    if (!offset || !in.at_end()) return std::nullopt;
    const std::chrono::year_month_day ymd(std::chrono::year(whole_year(year, digits)),
                                          std::chrono::month(static_cast<unsigned>(month) + 1),
                                          std::chrono::day(static_cast<unsigned>(day)));
    if (!ymd.ok()) return std::nullopt;
    const auto midnight =
        std::chrono::sys_seconds(std::chrono::sys_days(ymd)).time_since_epoch().count();
    return date{midnight + hour * 3600 + minute * 60 + second - *offset * 60, *offset};
}

}  // namespace coracle::mime
