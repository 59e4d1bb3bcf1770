#pragma once

#include <coracle/io/detail/format_spec.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace coracle::io {

namespace detail {

template <class T>
concept has_to_text = requires(const T& x) { std::string_view(to_text(x)); };

template <class T>
concept has_to_string = requires(const T& x) { std::string_view(x.to_string()); };

/// Appends to memory that may be too small: then it counts on, and writes no more.
class text_room {
public:
    text_room(char* to, std::size_t size) noexcept : to_(to), size_(size) {}
    void append(std::string_view text) noexcept {
        if (used_ <= size_ && text.size() <= size_ - used_) text.copy(to_ + used_, text.size());
        used_ += text.size();
    }
    void append(std::size_t times, std::string_view text) noexcept {
        for (; times != 0; --times) append(text);
    }
    std::size_t used() const noexcept { return used_; }

private:
    char* to_;
    std::size_t size_;
    std::size_t used_ = 0;
};

template <class T>
constexpr bool is_wide_character = std::is_same_v<T, wchar_t> || std::is_same_v<T, char8_t> ||
                                   std::is_same_v<T, char16_t> || std::is_same_v<T, char32_t>;

template <class T>
constexpr bool is_untyped_pointer =
    std::is_same_v<T, std::nullptr_t> || std::is_same_v<T, void*> || std::is_same_v<T, const void*>;

template <class T>
constexpr value_kind kind_of() noexcept {
    if constexpr (std::is_same_v<T, bool>)
        return value_kind::boolean;
    else if constexpr (std::is_same_v<T, char>)
        return value_kind::character;
    else if constexpr (std::is_integral_v<T> && !is_wide_character<T>)
        return std::is_signed_v<T> ? value_kind::signed_integer : value_kind::unsigned_integer;
    else if constexpr (std::is_same_v<T, float>)
        return value_kind::single;
    else if constexpr (std::is_same_v<T, double>)
        return value_kind::real;
    else if constexpr (std::is_same_v<T, long double>)
        return value_kind::long_real;
    else if constexpr (is_untyped_pointer<T>)
        return value_kind::pointer;
    else if constexpr (std::is_convertible_v<const T&, std::string_view>)
        return value_kind::text;
    else
        return value_kind::object;
}

/// One value to be formatted. Refers to what is no number.
class text_argument {
public:
    template <class T>
    text_argument(const T& x) noexcept : kind_(kind_of<T>()), size_(0), unsigned_(0) {
        constexpr value_kind kind = kind_of<T>();
        if constexpr (kind == value_kind::boolean)
            boolean_ = x;
        else if constexpr (kind == value_kind::character)
            character_ = x;
        else if constexpr (kind == value_kind::signed_integer)
            signed_ = x;
        else if constexpr (kind == value_kind::unsigned_integer)
            unsigned_ = x;
        else if constexpr (kind == value_kind::single)
            single_ = x;
        else if constexpr (kind == value_kind::real)
            real_ = x;
        else if constexpr (kind == value_kind::long_real)
            long_real_ = &x;
        else if constexpr (kind == value_kind::pointer)
            pointer_ = x;
        else if constexpr (kind == value_kind::text)
            set_text(x);
        else
            append_ = &append_object<T>, pointer_ = &x;
    }

    void append_to(text_room& room, const format_spec& spec, const text_argument* all) const;

private:
    using append_function = void (*)(const void* object, text_room& room);

    void set_text(std::string_view text) noexcept {
        size_ = text.size();
        text_ = text.data();
    }

    template <class T>
    static void append_object(const void* object, text_room& room) {
        static_assert(has_to_text<T> || has_to_string<T>,
                      "a type that is printed has a to_text(const T&) or a member to_string()");
        const T& x = *static_cast<const T*>(object);
        if constexpr (has_to_text<T>)
            room.append(std::string_view(to_text(x)));
        else if constexpr (has_to_string<T>)
            room.append(std::string_view(x.to_string()));
    }

    static int amount_of(const format_amount& amount, const text_argument* all);
    static std::size_t width_of(const format_spec& spec, const text_argument* all);
    int as_amount() const;
    std::string text_of_object() const;
    void append_plain(text_room& room) const;
    void append_text(text_room& room, const format_spec& spec, const text_argument* all) const;
    void append_integer(text_room& room, const format_spec& spec, const text_argument* all) const;
    void append_real(text_room& room, const format_spec& spec, const text_argument* all) const;

    value_kind kind_;
    union {
        std::size_t size_;
        append_function append_;
    };
    union {
        const char* text_;
        const void* pointer_;
        std::int64_t signed_;
        std::uint64_t unsigned_;
        float single_;
        double real_;
        const long double* long_real_;
        char character_;
        bool boolean_;
    };
};

/// Writes the text into `room`, which may be too small for it, and gives its size.
std::size_t format_into(text_room room, std::string_view format, const text_argument* arguments);

}  // namespace detail

/// The format text of `print` and `format`: a literal with the replacements of `std::format` in it,
/// checked when it is compiled against the types `Args`:
///
///     {}   {:<10}   {:*^20}   {:+.3f}   {:#010x}   {1} {0}   {:{}.{}}   {{ and }}
///
/// Replacements are `{[argument][:[[fill]align][sign][#][0][width][.precision][L][type]]}`, of
/// [format.string.std] in the standard, for its integers, characters, bool, floating point, strings
/// and untyped pointers; a type of your own has the formats of strings, but for `?`. `L` follows
/// the locale that the program has set (std::locale::global). Other than in the standard, arguments
/// that nothing uses are refused.
template <class... Args>
class checked_format {
public:
    template <class Text>
        requires std::is_convertible_v<const Text&, std::string_view>
    consteval checked_format(const Text& text) : text_(text) {
        constexpr detail::value_kind kinds[] = {detail::kind_of<Args>()..., {}};
        detail::check_formats(text_, kinds);
    }
    constexpr std::string_view text() const noexcept { return text_; }

private:
    std::string_view text_;
};

template <class... Args>
using text_format = checked_format<std::type_identity_t<Args>...>;

/// A text with values in it, as `std::format` makes it. Plain `{}` puts strings in as they are,
/// numbers in decimal digits, floating point as the shortest text that reads back as the same
/// value, bool as true and false, pointers in hexadecimal digits; other types as what
/// `to_text(const T&)`, found by its argument's type, or a member `to_string()` gives. Widths count
/// columns of a terminal, in UTF-8: 2 for the wide characters of the standard's table. Throws
/// `std::invalid_argument` for a width or precision among the arguments that is negative or no
/// `int`, and for `{:c}` of an integer that is no `char`. Thread-safe.
template <class... Args>
std::string format(text_format<Args...> text, const Args&... args) {
    const detail::text_argument all[] = {args..., 0};
    std::string out(detail::format_into({nullptr, 0}, text.text(), all), '\0');
    detail::format_into({out.data(), out.size()}, text.text(), all);
    return out;
}

}  // namespace coracle::io
