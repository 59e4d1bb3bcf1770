#pragma once

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
    std::size_t used() const noexcept { return used_; }

private:
    char* to_;
    std::size_t size_;
    std::size_t used_ = 0;
};

/// One value to be formatted. Refers to what is no number.
class text_argument {
public:
    template <class T>
    text_argument(const T& x) noexcept {
        if constexpr (std::is_same_v<T, bool>)
            *this = text_argument(std::string_view(x ? "true" : "false"));
        else if constexpr (std::is_same_v<T, char>)
            *this = text_argument(kind::character), character_ = x;
        else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
            *this = text_argument(kind::signed_integer), signed_ = x;
        else if constexpr (std::is_integral_v<T>)
            *this = text_argument(kind::unsigned_integer), unsigned_ = x;
        else if constexpr (std::is_same_v<T, float>)
            *this = text_argument(kind::single), single_ = x;
        else if constexpr (std::is_floating_point_v<T>)
            *this = text_argument(kind::real), real_ = static_cast<double>(x);
        else if constexpr (std::is_convertible_v<const T&, std::string_view>)
            *this = text_argument(std::string_view(x));
        else
            *this = text_argument(&x, &append_object<T>);
    }

    void append_to(text_room& room) const;

private:
    enum class kind : std::uint8_t {
        text,
        character,
        signed_integer,
        unsigned_integer,
        single,
        real,
        object,
    };
    using append_function = void (*)(const void* object, text_room& room);

    explicit text_argument(kind k) noexcept : kind_(k), unsigned_(0) {}
    explicit text_argument(std::string_view text) noexcept
        : kind_(kind::text), size_(text.size()), text_(text.data()) {}
    text_argument(const void* object, append_function append) noexcept
        : kind_(kind::object), append_(append), object_(object) {}

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

    kind kind_;
    union {
        std::size_t size_;
        append_function append_;
    };
    union {
        const char* text_;
        const void* object_;
        std::int64_t signed_;
        std::uint64_t unsigned_;
        float single_;
        double real_;
        char character_;
    };
};

/// Writes the text into `room`, which may be too small for it, and gives its size.
std::size_t format_into(text_room room, std::string_view format, const text_argument* arguments);

// What the compiler names when a text for `print` is wrong.
inline void a_brace_has_no_partner_or_should_be_doubled() {}
inline void there_are_more_braces_than_arguments() {}
inline void there_are_more_arguments_than_braces() {}

}  // namespace detail

/// What `print` and `format` take: a literal in which each `{}` stands for one of `Args`, checked
/// when it is compiled; `{{` and `}}` are braces.
template <class... Args>
class checked_format {
public:
    template <class Text>
        requires std::is_convertible_v<const Text&, std::string_view>
    consteval checked_format(const Text& text) : text_(text) {
        std::size_t places = 0;
        for (std::size_t i = 0; i != text_.size(); ++i) {
            const char c = text_[i];
            if (c != '{' && c != '}') continue;
            const char next = i + 1 == text_.size() ? '\0' : text_[i + 1];
            if (c == '{' && next == '}')
                ++places;
            else if (c != next)
                detail::a_brace_has_no_partner_or_should_be_doubled();
            ++i;
        }
        if (places > sizeof...(Args)) detail::there_are_more_braces_than_arguments();
        if (places < sizeof...(Args)) detail::there_are_more_arguments_than_braces();
    }
    constexpr std::string_view text() const noexcept { return text_; }

private:
    std::string_view text_;
};

template <class... Args>
using text_format = checked_format<std::type_identity_t<Args>...>;

/// A text with values in it. Strings are put in as they are, numbers in decimal digits, floating
/// point as the shortest text that reads back as the same value, bool as true and false; other
/// types as what `to_text(const T&)`, found by its argument's type, or a member `to_string()`
/// gives. Thread-safe.
template <class... Args>
std::string format(text_format<Args...> text, const Args&... args) {
    const detail::text_argument all[] = {args..., 0};
    std::string out(detail::format_into({nullptr, 0}, text.text(), all), '\0');
    detail::format_into({out.data(), out.size()}, text.text(), all);
    return out;
}

}  // namespace coracle::io
