#pragma once

#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <expected>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle::http {

namespace detail {

std::string not_an_integer(std::int64_t least, std::uint64_t most);

}  // namespace detail

/// Reads a value from the text of a path, a query, a form, a field or a cookie. Specialise it for a
/// type of your own, with `static std::expected<T, std::string> parse(std::string_view)`, whose
/// error continues the quoted text: "is not a colour". Specialisations exist for integers, within
/// their range, floating point, bool, std::string, std::string_view, and enumerations with
/// `enum_names`.
template <class T>
struct from_text;

/// The names of an enumeration, for `from_text`. Specialise it with
/// `static constexpr std::pair<std::string_view, E> values[]`.
template <class E>
struct enum_names;

template <class T>
concept readable_from_text = requires(std::string_view text) {
    { from_text<T>::parse(text) } -> std::same_as<std::expected<T, std::string>>;
};

namespace detail {

/// Not the types of characters.
template <class T>
concept number_type = std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> &&
                      !std::same_as<T, wchar_t> && !std::same_as<T, char8_t> &&
                      !std::same_as<T, char16_t> && !std::same_as<T, char32_t>;

template <class T>
bool read_whole(std::string_view text, T& value) noexcept {
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, value);
    return failure == std::errc() && stop == end;
}

}  // namespace detail

/// Decimal digits, with "-" before them where the type has a sign.
template <detail::number_type T>
struct from_text<T> {
    static std::expected<T, std::string> parse(std::string_view text) {
        T value{};
        if (detail::read_whole(text, value)) return value;
        return std::unexpected(
            detail::not_an_integer(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
};

/// A finite number: "1", "-0.5", "1e9".
template <std::floating_point T>
struct from_text<T> {
    static std::expected<T, std::string> parse(std::string_view text) {
        T value{};
        if (detail::read_whole(text, value) && std::isfinite(value)) return value;
        return std::unexpected(std::string("is not a number"));
    }
};

/// "true", "1" and "on" (what a check box sends); "false", "0" and "off".
template <>
struct from_text<bool> {
    static std::expected<bool, std::string> parse(std::string_view text) {
        if (text == "true" || text == "1" || text == "on") return true;
        if (text == "false" || text == "0" || text == "off") return false;
        return std::unexpected(std::string("is neither true nor false"));
    }
};

template <>
struct from_text<std::string> {
    static std::expected<std::string, std::string> parse(std::string_view text) {
        return std::expected<std::string, std::string>(std::in_place, text);
    }
};

/// Lives as long as the request.
template <>
struct from_text<std::string_view> {
    static std::expected<std::string_view, std::string> parse(std::string_view text) {
        return text;
    }
};

template <class E>
    requires std::is_enum_v<E> && requires { enum_names<E>::values; }
struct from_text<E> {
    static std::expected<E, std::string> parse(std::string_view text) {
        std::string names;
        for (const auto& [name, value] : enum_names<E>::values) {
            if (name == text) return value;
            names.append(names.empty() ? "is none of " : ", ").append(name);
        }
        return std::unexpected(std::move(names));
    }
};

}  // namespace coracle::http
