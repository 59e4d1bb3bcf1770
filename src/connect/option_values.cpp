#include "connect/option_values.hpp"

#include "base/ascii.hpp"

#include <coracle/connect/overrides.hpp>
#include <coracle/connect/proxy.hpp>
#include <coracle/net/network.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <utility>

namespace coracle::connect::detail {
namespace {

using coracle::detail::is_blank;
using coracle::detail::is_digit;
using coracle::detail::is_letter;
using coracle::detail::lower;

bool same(std::string_view text, std::string_view lower_case) noexcept {
    return std::ranges::equal(text, lower_case, {}, [](char c) { return lower(c); });
}

bool is_clean(std::string_view text) noexcept {
    return std::ranges::none_of(text, [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte < 0x20 || byte == 0x7f;
    });
}

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

std::optional<net::address> to_optional(const std::expected<net::address, error>& read) {
    return read ? std::optional(*read) : std::nullopt;
}

// Returns the text after the number at the beginning of `text`, without blanks between them.
std::string_view behind(const char* end_of_number, std::string_view text) noexcept {
    text.remove_prefix(static_cast<std::size_t>(end_of_number - text.data()));
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    return text;
}

struct size_unit {
    std::string_view name;
    std::uint64_t bytes;
};

constexpr std::uint64_t kib = 1024;
// "k" alone is from curl.
constexpr size_unit size_units[] = {
    {"", 1},
    {"b", 1},
    {"k", kib},
    {"m", kib* kib},
    {"g", kib* kib* kib},
    {"kib", kib},
    {"mib", kib* kib},
    {"gib", kib* kib* kib},
    {"kb", 1000},
    {"mb", 1'000'000},
    {"gb", 1'000'000'000},
};

struct time_unit {
    std::string_view name;
    std::int64_t nanoseconds;
};

// Largest first, because values are written in the largest unit without a remainder.
constexpr time_unit time_units[] = {
    {"h", 3'600'000'000'000}, {"min", 60'000'000'000}, {"s", 1'000'000'000},
    {"ms", 1'000'000},        {"us", 1'000},           {"ns", 1},
};

}  // namespace

std::string_view to_string(option_type t) noexcept {
    constexpr std::string_view names[] = {"boolean", "number", "size",   "time",
                                          "text",    "secret", "choice", "list"};
    return names[static_cast<std::size_t>(t)];
}

bool boolean_value::read(std::string_view text, bool& value) noexcept {
    for (const std::string_view yes : {"1", "true", "yes", "on"}) {
        if (same(text, yes)) return value = true;
    }
    for (const std::string_view no : {"0", "false", "no", "off"}) {
        if (same(text, no)) return !(value = false);
    }
    return false;
}

bool read_size(std::string_view text, std::uint64_t& bytes) noexcept {
    std::uint64_t number = 0;
    const auto r = std::from_chars(text.data(), text.data() + text.size(), number);
    if (r.ec != std::errc()) return false;
    const std::string_view unit = behind(r.ptr, text);
    for (const size_unit& u : size_units) {
        if (!same(unit, u.name)) continue;
        if (number > std::numeric_limits<std::uint64_t>::max() / u.bytes) return false;
        bytes = number * u.bytes;
        return true;
    }
    return false;
}

std::string write_size(std::uint64_t bytes) {
    if (bytes == 0 || bytes % kib != 0) return std::to_string(bytes);
    if (bytes % (kib * kib) != 0) return std::to_string(bytes / kib) + "KiB";
    constexpr std::uint64_t mib = kib * kib;
    if (bytes % (kib * mib) == 0) return std::to_string(bytes / (kib * mib)) + "GiB";
    return std::to_string(bytes / mib) + "MiB";
}

bool time_value::read(std::string_view text, duration& value) noexcept {
    if (text.empty() || !is_digit(text.front())) return false;
    const char* const last = text.data() + text.size();
    double number = 0;
    const auto r = std::from_chars(text.data(), last, number, std::chars_format::fixed);
    if (r.ec != std::errc()) return false;
    // A double has no room for all whole numbers.
    std::int64_t whole = 0;
    const auto w = std::from_chars(text.data(), last, whole);
    const bool is_whole = w.ec == std::errc() && w.ptr == r.ptr;
    std::string_view name = behind(r.ptr, text);
    if (name.empty()) name = unit;
    for (const time_unit& u : time_units) {
        if (!same(name, u.name)) continue;
        if (is_whole && whole <= std::numeric_limits<std::int64_t>::max() / u.nanoseconds) {
            value = duration(whole * u.nanoseconds);
            return true;
        }
        const double nanoseconds = number * static_cast<double>(u.nanoseconds);
        // 2^63 is the first value that does not fit.
        if (nanoseconds >= 9.2e18) return false;
        value = duration(std::llround(nanoseconds));
        return true;
    }
    return false;
}

std::string time_value::write(duration value) {
    if (value <= duration::zero()) return "0";
    for (const time_unit& u : time_units) {
        if (value.count() % u.nanoseconds == 0) {
            return std::to_string(value.count() / u.nanoseconds) + std::string(u.name);
        }
    }
    return {};
}

bool text_value::read(std::string_view text, std::string& value) {
    if (!is_clean(text)) return false;
    value = text;
    return true;
}

bool secret_value::read(std::string_view text, secret& value) {
    if (!is_clean(text)) return false;
    value = secret(text);
    return true;
}

bool proxy_value::read(std::string_view text, secret& value) {
    if (!text.empty() && !connect::proxy::parse(text)) return false;
    return secret_value::read(text, value);
}

std::string proxy_value::write(const secret& value) {
    const auto proxy = connect::proxy::parse(value.reveal());
    return proxy ? proxy->to_string() : std::string();
}

bool schemes_value::read(std::string_view text, std::string& value) {
    std::string_view rest = text;
    do {
        const std::string_view scheme = coracle::detail::take_item(rest);
        const auto is_of_scheme = [](char c) {
            return is_letter(c) || is_digit(c) || c == '+' || c == '-' || c == '.';
        };
        if (scheme.empty() || !is_letter(scheme.front()) ||
            !std::ranges::all_of(scheme, is_of_scheme)) {
            return false;
        }
    } while (!rest.empty());
    value = lower(text);
    return true;
}

bool overrides_value::read(std::string_view text, std::vector<std::string>& value) {
    std::vector<std::string> entries;
    connect::overrides check;
    while (!text.empty()) {
        const std::string_view entry = coracle::detail::take_item(text, ';');
        if (!check.add(entry)) return false;
        entries.emplace_back(entry);
    }
    value = std::move(entries);
    return true;
}

std::string overrides_value::write(const std::vector<std::string>& value) {
    return domains_value::write(value);
}

bool servers_value::read(std::string_view text, std::vector<net::address>& value) {
    constexpr std::uint16_t usual = 53;
    std::vector<net::address> all;
    while (!text.empty()) {
        const std::string_view entry = trimmed(coracle::detail::take_item(text, ';'));
        auto known = net::parse_ip(entry, usual);
        const auto with_port = known ? std::nullopt : to_optional(net::address::parse(entry));
        if (with_port && with_port->family() != net::family::unix_path) known = *with_port;
        if (!known) return false;
        all.push_back(*known);
    }
    value = std::move(all);
    return true;
}

std::string servers_value::write(const std::vector<net::address>& value) {
    std::string text;
    for (const net::address& a : value) {
        if (!text.empty()) text += ';';
        text += a.to_string();
    }
    return text;
}

bool domains_value::read(std::string_view text, std::vector<std::string>& value) {
    if (!is_clean(text)) return false;
    std::vector<std::string> all;
    while (!text.empty()) {
        const std::string_view name = trimmed(coracle::detail::take_item(text, ';'));
        if (name.empty() || name.find(' ') != std::string_view::npos) return false;
        all.emplace_back(name);
    }
    value = std::move(all);
    return true;
}

std::string domains_value::write(const std::vector<std::string>& value) {
    std::string text;
    for (const std::string& entry : value) {
        if (!text.empty()) text += ';';
        text += entry;
    }
    return text;
}

int find_choice(const choice_name* names, int count, std::string_view text) noexcept {
    for (int i = 0; i < count; ++i) {
        const bool found = same(text, lower(names[i].name)) ||
                           (!names[i].second.empty() && same(text, names[i].second));
        if (found) return i;
    }
    return -1;
}

}  // namespace coracle::connect::detail
