#pragma once

#include <climits>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coracle::io::detail {

/// The kinds of value, each with its formats.
enum class value_kind : std::uint8_t {
    text,
    character,
    boolean,
    signed_integer,
    unsigned_integer,
    single,
    real,
    long_real,
    pointer,
    /// Formatted as the text that it has.
    object,
};

/// A width or a precision.
struct format_amount {
    enum class place : std::uint8_t { absent, here, argument };
    place from = place::absent;
    /// The amount, or which argument has it.
    int value = 0;
};

/// The format of a value: [[fill]align][sign][#][0][width][.precision][L][type].
struct format_spec {
    /// One character in UTF-8.
    std::string_view fill = " ";
    /// '<', '^', '>', or 0 for what the value's kind has.
    char align = '\0';
    char sign = '-';
    bool alternate = false;
    bool zeros = false;
    /// Groups digits, and names true and false, as the locale of the program does.
    bool localized = false;
    char type = '\0';
    format_amount width;
    format_amount precision;

    constexpr bool plain() const noexcept {
        return width.from == format_amount::place::absent &&
               precision.from == format_amount::place::absent && type == '\0' && sign == '-' &&
               !alternate && !localized;
    }
};

// The compiler names one of these when a text for `print` is wrong.
inline void a_brace_has_no_partner_or_should_be_doubled() {}
inline void there_are_more_braces_than_arguments() {}
inline void there_are_more_arguments_than_braces() {}
inline void either_all_braces_have_numbers_or_none() {}
inline void a_number_in_braces_is_too_large() {}
inline void a_point_in_braces_wants_a_precision() {}
inline void this_is_no_format_or_has_the_wrong_order() {}
inline void a_locale_is_for_numbers_and_bool() {}
inline void this_type_of_format_does_not_suit_the_value() {}
inline void sign_and_alternate_form_and_zeros_are_for_numbers() {}
inline void a_precision_is_for_strings_and_floating_point() {}
inline void a_width_or_precision_is_an_integer() {}

/// Returns the number of bytes of the UTF-8 character that begins with `first`; 1 if none does.
constexpr std::size_t utf8_size(char first) noexcept {
    const auto byte = static_cast<unsigned char>(first);
    if (byte >= 0xF0) return 4;
    if (byte >= 0xE0) return 3;
    return byte >= 0xC0 ? 2 : 1;
}

/// Takes a text for `print` apart, when it is compiled to check it, and when it is used.
class format_parser {
public:
    /// Literal text, and perhaps a value after it.
    struct piece {
        std::string_view literal;
        bool has_value = false;
        int argument = 0;
        format_spec spec;
    };

    constexpr explicit format_parser(std::string_view text) : rest_(text) {}

    constexpr bool at_end() const noexcept { return rest_.empty(); }

    constexpr piece next() {
        piece p;
        const std::size_t brace = rest_.find_first_of("{}");
        if (brace == std::string_view::npos) {
            p.literal = rest_;
            rest_ = {};
            return p;
        }
        const char c = rest_[brace];
        const bool doubled = brace + 1 != rest_.size() && rest_[brace + 1] == c;
        p.literal = rest_.substr(0, brace + (doubled ? 1 : 0));
        rest_.remove_prefix(brace + (doubled ? 2 : 1));
        if (doubled) return p;
        if (c == '}') a_brace_has_no_partner_or_should_be_doubled();
        p.has_value = true;
        p.argument = take_argument();
        if (take(':')) p.spec = take_spec();
        if (!take('}')) {
            if (rest_.empty()) a_brace_has_no_partner_or_should_be_doubled();
            this_is_no_format_or_has_the_wrong_order();
        }
        return p;
    }

private:
    static constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

    constexpr char peek() const noexcept { return rest_.empty() ? '\0' : rest_.front(); }

    constexpr bool take(char c) noexcept {
        if (peek() != c || rest_.empty()) return false;
        rest_.remove_prefix(1);
        return true;
    }

    constexpr int take_number() {
        int number = 0;
        while (is_digit(peek())) {
            const int digit = peek() - '0';
            if (number > (INT_MAX - digit) / 10) a_number_in_braces_is_too_large();
            number = number * 10 + digit;
            rest_.remove_prefix(1);
        }
        return number;
    }

    constexpr int take_argument() {
        const bool numbered = is_digit(peek());
        if (!numbered && peek() != ':' && peek() != '}') {
            if (rest_.empty()) a_brace_has_no_partner_or_should_be_doubled();
            this_is_no_format_or_has_the_wrong_order();
        }
        const numbering now = numbered ? numbering::given : numbering::automatic;
        if (numbering_ != numbering::unknown && numbering_ != now)
            either_all_braces_have_numbers_or_none();
        numbering_ = now;
        return numbered ? take_number() : next_argument_++;
    }

    constexpr format_amount take_amount() {
        format_amount amount;
        if (take('{')) {
            amount.from = format_amount::place::argument;
            amount.value = take_argument();
            if (!take('}')) a_brace_has_no_partner_or_should_be_doubled();
        } else if (is_digit(peek())) {
            amount.from = format_amount::place::here;
            amount.value = take_number();
        }
        return amount;
    }

    constexpr void take_fill_and_align(format_spec& spec) {
        const auto is_align = [](char c) { return c == '<' || c == '^' || c == '>'; };
        const std::size_t size = utf8_size(peek());
        const bool may_fill = peek() != '{' && peek() != '}';
        if (may_fill && rest_.size() > size && is_align(rest_[size])) {
            spec.fill = rest_.substr(0, size);
            rest_.remove_prefix(size);
        }
        if (!is_align(peek())) return;
        spec.align = peek();
        rest_.remove_prefix(1);
    }

    constexpr format_spec take_spec() {
        format_spec spec;
        take_fill_and_align(spec);
        if (peek() == '+' || peek() == '-' || peek() == ' ') {
            spec.sign = peek();
            rest_.remove_prefix(1);
        }
        spec.alternate = take('#');
        spec.zeros = take('0');
        if (peek() != '0') spec.width = take_amount();
        if (take('.')) {
            spec.precision = take_amount();
            if (spec.precision.from == format_amount::place::absent)
                a_point_in_braces_wants_a_precision();
        }
        spec.localized = take('L');
        if (peek() != '}' && !rest_.empty()) {
            spec.type = peek();
            rest_.remove_prefix(1);
        }
        return spec;
    }

    enum class numbering : std::uint8_t { unknown, automatic, given };

    std::string_view rest_;
    numbering numbering_ = numbering::unknown;
    int next_argument_ = 0;
};

constexpr bool is_integer(value_kind kind) noexcept {
    return kind == value_kind::signed_integer || kind == value_kind::unsigned_integer;
}

constexpr bool is_floating_point(value_kind kind) noexcept {
    return kind == value_kind::single || kind == value_kind::real || kind == value_kind::long_real;
}

/// The types of format that a kind of value has.
constexpr std::string_view types_of(value_kind kind) noexcept {
    if (is_integer(kind)) return "bBdoxXc";
    if (is_floating_point(kind)) return "aAeEfFgG";
    switch (kind) {
        case value_kind::character: return "bBdoxXc?";
        case value_kind::text: return "s?";
        case value_kind::boolean: return "bBdoxXs";
        case value_kind::pointer: return "p";
        default: return "s";
    }
}

/// Returns true if a value is written in digits.
constexpr bool is_written_as_number(value_kind kind, char type) noexcept {
    if (is_floating_point(kind)) return true;
    if (is_integer(kind)) return type != 'c';
    const bool may_be = kind == value_kind::character || kind == value_kind::boolean;
    return may_be && type != '\0' && type != 'c' && type != 's' && type != '?';
}

constexpr void check_format(const format_spec& spec, value_kind kind) {
    if (spec.type != '\0' && !types_of(kind).contains(spec.type))
        this_type_of_format_does_not_suit_the_value();
    const bool for_numbers = spec.sign != '-' || spec.alternate || spec.zeros;
    if (for_numbers && !is_written_as_number(kind, spec.type))
        sign_and_alternate_form_and_zeros_are_for_numbers();
    if (spec.localized && kind != value_kind::boolean && !is_written_as_number(kind, spec.type))
        a_locale_is_for_numbers_and_bool();
    const bool is_text = kind == value_kind::text || kind == value_kind::object;
    if (spec.precision.from != format_amount::place::absent && !is_text && !is_floating_point(kind))
        a_precision_is_for_strings_and_floating_point();
}

/// Checks a text for values of these kinds.
template <std::size_t N>
constexpr void check_formats(std::string_view text, const value_kind (&kinds)[N]) {
    // The last one is there so that the array is not empty.
    constexpr std::size_t count = N - 1;
    bool used[N] = {};
    const auto use = [&](int argument) {
        const auto i = static_cast<std::size_t>(argument);
        if (i >= count) there_are_more_braces_than_arguments();
        used[i] = true;
        return kinds[i];
    };
    const auto use_amount = [&](const format_amount& amount) {
        if (amount.from == format_amount::place::argument && !is_integer(use(amount.value)))
            a_width_or_precision_is_an_integer();
    };
    format_parser parser(text);
    while (!parser.at_end()) {
        const format_parser::piece p = parser.next();
        if (!p.has_value) continue;
        check_format(p.spec, use(p.argument));
        use_amount(p.spec.width);
        use_amount(p.spec.precision);
    }
    for (std::size_t i = 0; i != count; ++i)
        if (!used[i]) there_are_more_arguments_than_braces();
}

}  // namespace coracle::io::detail
