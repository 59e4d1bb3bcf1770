#pragma once

#include <coracle/base/secret.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <charconv>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

// Reading the values of options from text, and writing them. Each `read` returns false, and does
// not change the value, if the text does not match `wanted`. Each `write` returns text that `read`
// accepts.
namespace coracle::connect::detail {

enum class option_type : std::uint8_t { boolean, count, size, time, text, secret, choice, list };

std::string_view to_string(option_type t) noexcept;

struct boolean_value {
    static constexpr auto type = option_type::boolean;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "0, 1, true, false, yes, no, on or off";
    static bool read(std::string_view text, bool& value) noexcept;
    static std::string write(bool value) { return value ? "1" : "0"; }
};

/// A number that fits its type.
template <class Number>
bool read_number(std::string_view text, Number& value) noexcept {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto r = std::from_chars(text.data(), end, number);
    if (r.ec != std::errc() || r.ptr != end) return false;
    value = number;
    return true;
}

struct count_value {
    static constexpr auto type = option_type::count;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "a whole number";
    template <std::unsigned_integral Number>
    static bool read(std::string_view text, Number& value) noexcept {
        return read_number(text, value);
    }
    static std::string write(std::uint64_t value) { return std::to_string(value); }
};

struct percent_value : count_value {
    static constexpr std::string_view unit = "%";
};

/// "16MiB", "2MB", "64k" (65,536) or "100".
bool read_size(std::string_view text, std::uint64_t& bytes) noexcept;
std::string write_size(std::uint64_t bytes);

struct size_value {
    static constexpr auto type = option_type::size;
    static constexpr std::string_view unit = "bytes";
    static constexpr std::string_view wanted = "a number of bytes such as 65536, 64KiB or 2MB";
    template <std::unsigned_integral Number>
    static bool read(std::string_view text, Number& value) noexcept {
        std::uint64_t bytes = 0;
        if (!read_size(text, bytes) || bytes > std::numeric_limits<Number>::max()) return false;
        value = static_cast<Number>(bytes);
        return true;
    }
    static std::string write(std::uint64_t value) { return write_size(value); }
};

struct rate_value : size_value {
    static constexpr std::string_view unit = "bytes/s";
};

struct time_value {
    static constexpr auto type = option_type::time;
    static constexpr std::string_view unit = "ms";
    static constexpr std::string_view wanted = "a time such as 5000 (ms), 250ms, 5s, 2min or 1h";
    static bool read(std::string_view text, duration& value) noexcept;
    static std::string write(duration value);
};

/// Text without control bytes.
struct text_value {
    static constexpr auto type = option_type::text;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "text without control characters";
    static bool read(std::string_view text, std::string& value);
    static std::string write(const std::string& value) { return value; }
};

struct secret_value : text_value {
    static constexpr auto type = option_type::secret;
    static bool read(std::string_view text, secret& value);
    static std::string write(const secret& value) { return value.empty() ? "" : "***"; }
};

/// Written without user and password.
struct proxy_value : text_value {
    static constexpr std::string_view wanted =
        "[http|https|socks4|socks4a|socks5|socks5h://][user:password@]host[:port]";
    static bool read(std::string_view text, secret& value);
    static std::string write(const secret& value);
};

struct schemes_value : text_value {
    static constexpr std::string_view wanted = "schemes with commas between them, such as https";
    static bool read(std::string_view text, std::string& value);
};

/// A list with ";" between its entries, as these have commas.
struct overrides_value {
    static constexpr auto type = option_type::list;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "host:port:address[,address...], with \";\" between";
    static bool read(std::string_view text, std::vector<std::string>& value);
    static std::string write(const std::vector<std::string>& value);
};

/// Addresses of name servers, with ";" between, whose port is 53 unless they have one.
struct servers_value {
    static constexpr auto type = option_type::list;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "addresses with \";\" between, such as 192.0.2.1";
    static bool read(std::string_view text, std::vector<net::address>& value);
    static std::string write(const std::vector<net::address>& value);
};

/// Names of domains, with ";" between.
struct domains_value {
    static constexpr auto type = option_type::list;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = "domains with \";\" between";
    static bool read(std::string_view text, std::vector<std::string>& value);
    static std::string write(const std::vector<std::string>& value);
};

/// The name of an enumerator, and an alias.
struct choice_name {
    std::string_view name;
    std::string_view second;
};

int find_choice(const choice_name* names, int count, std::string_view text) noexcept;

/// `Names` is in the order of the enumeration.
template <auto& Names, const auto& Wanted>
struct choice_value {
    static constexpr auto type = option_type::choice;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = Wanted;
    template <class Enum>
    static bool read(std::string_view text, Enum& value) noexcept {
        const int at = find_choice(Names, std::size(Names), text);
        if (at >= 0) value = static_cast<Enum>(at);
        return at >= 0;
    }
    template <class Enum>
    static std::string write(Enum value) {
        return std::string(Names[static_cast<std::size_t>(value)].name);
    }
};

/// A choice that is stored by its name; may be empty.
template <auto& Names, const auto& Wanted>
struct name_value {
    static constexpr auto type = option_type::choice;
    static constexpr std::string_view unit = "";
    static constexpr std::string_view wanted = Wanted;
    static bool read(std::string_view text, std::string& value) {
        const int at = text.empty() ? 0 : find_choice(Names, std::size(Names), text);
        if (at < 0) return false;
        value = text.empty() ? std::string_view() : Names[at].name;
        return true;
    }
    static std::string write(const std::string& value) { return value; }
};

}  // namespace coracle::connect::detail
