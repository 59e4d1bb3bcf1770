#include <coracle/io/text_format.hpp>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <limits>
#include <locale>
#include <stdexcept>
#include <system_error>

namespace coracle::io::detail {
namespace {

struct character_range {
    char32_t first;
    char32_t last;
};

// Characters that take two columns, [format.string.std] of C++20.
constexpr character_range wide_characters[] = {
    {0x1100, 0x115F},   {0x2329, 0x232A},   {0x2E80, 0x303E},   {0x3040, 0xA4CF},
    {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
    {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x1F300, 0x1F64F}, {0x1F900, 0x1F9FF},
    {0x20000, 0x2FFFD}, {0x30000, 0x3FFFD},
};

// Characters that combine with the one before them: combining marks, joiners, variation selectors.
constexpr character_range joined_characters[] = {
    {0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200C, 0x200D},
    {0x20D0, 0x20F0}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0x1F3FB, 0x1F3FF},
};

template <std::size_t N>
bool is_in(const character_range (&ranges)[N], char32_t c) noexcept {
    return std::ranges::any_of(
        ranges, [&](const character_range& r) { return c >= r.first && c <= r.last; });
}

struct character {
    std::size_t size;
    std::size_t columns;
    char32_t code;
};

// Bytes that are no UTF-8 take a column each.
character first_character(std::string_view text) noexcept {
    const std::size_t size = utf8_size(text.front());
    const character byte_alone{1, 1, static_cast<unsigned char>(text.front())};
    if (size == 1 || size > text.size()) return byte_alone;
    char32_t code = static_cast<unsigned char>(text.front()) & (0xFFU >> (size + 1));
    for (std::size_t i = 1; i != size; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if ((byte & 0xC0U) != 0x80U) return byte_alone;
        code = code << 6 | (byte & 0x3FU);
    }
    if (is_in(joined_characters, code)) return {size, 0, code};
    return {size, is_in(wide_characters, code) ? 2U : 1U, code};
}

struct measured_text {
    std::string_view text;
    std::size_t columns;
};

// Returns the longest part of the text that takes no more columns than `most`.
measured_text measure(std::string_view text, std::size_t most) noexcept {
    std::size_t size = 0;
    std::size_t columns = 0;
    while (size != text.size()) {
        const character c = first_character(text.substr(size));
        if (columns + c.columns > most) break;
        size += c.size;
        columns += c.columns;
    }
    return {text.substr(0, size), columns};
}

struct padding {
    std::size_t before;
    std::size_t behind;
};

padding pad(std::size_t columns, std::size_t width, char align) noexcept {
    const std::size_t missing = width > columns ? width - columns : 0;
    switch (align) {
        case '<': return {0, missing};
        case '^': return {missing / 2, missing - missing / 2};
        default: return {missing, 0};
    }
}

void append_padded(text_room& room, const measured_text& text, std::size_t width,
                   const format_spec& spec, char default_align) {
    const padding p = pad(text.columns, width, spec.align != '\0' ? spec.align : default_align);
    room.append(p.before, spec.fill);
    room.append(text.text);
    room.append(p.behind, spec.fill);
}

// Appends sign or base, zeros up to the width if `zeros` is set, and the digits.
void append_number(text_room& room, std::string_view prefix, std::string_view digits,
                   std::size_t width, const format_spec& spec, bool zeros) {
    const std::size_t size = prefix.size() + digits.size();
    const bool filled = zeros && spec.align == '\0';
    const padding p = filled ? padding{0, 0} : pad(size, width, spec.align);
    room.append(p.before, spec.fill);
    room.append(prefix);
    if (filled && width > size) room.append(width - size, "0");
    room.append(digits);
    room.append(p.behind, spec.fill);
}

std::string_view sign_of(bool negative, char sign) noexcept {
    if (negative) return "-";
    if (sign == '+') return "+";
    return sign == ' ' ? " " : "";
}

void make_upper(char* first, char* last) noexcept {
    for (; first != last; ++first)
        if (*first >= 'a' && *first <= 'z') *first = static_cast<char>(*first - 'a' + 'A');
}

struct base {
    int number;
    std::string_view prefix;
};

base base_of(char type) noexcept {
    switch (type) {
        case 'b': return {2, "0b"};
        case 'B': return {2, "0B"};
        case 'o': return {8, "0"};
        case 'x': return {16, "0x"};
        case 'X': return {16, "0X"};
        default: return {10, ""};
    }
}

/// Groups digits from the right, as `std::numpunct::grouping` says: the last size repeats.
std::string group(std::string_view digits, const std::string& sizes, char separator) {
    std::string out(digits);
    std::size_t at = digits.size();
    for (std::size_t i = 0; !sizes.empty(); ++i) {
        const char size = sizes[std::min(i, sizes.size() - 1)];
        if (size <= 0 || size == CHAR_MAX || static_cast<std::size_t>(size) >= at) break;
        at -= static_cast<std::size_t>(size);
        out.insert(at, 1, separator);
    }
    return out;
}

/// Digits in the form of the locale that the program has set (std::locale::global).
std::string localize(std::string_view digits, bool is_integer) {
    const std::locale here;
    const auto& form = std::use_facet<std::numpunct<char>>(here);
    const std::size_t whole = is_integer
                                  ? digits.size()
                                  : std::min(digits.find_first_not_of("0123456789"), digits.size());
    std::string out = group(digits.substr(0, whole), form.grouping(), form.thousands_sep());
    std::string_view rest = digits.substr(whole);
    if (rest.starts_with('.')) {
        out += form.decimal_point();
        rest.remove_prefix(1);
    }
    return out.append(rest);
}

std::string name_of(bool value, bool is_localized) {
    if (!is_localized) return value ? "true" : "false";
    const std::locale here;
    const auto& form = std::use_facet<std::numpunct<char>>(here);
    return value ? form.truename() : form.falsename();
}

// Separators, controls and what has no shape of its own, of [format.string.escaped].
constexpr character_range unseen_characters[] = {
    {0x0000, 0x001F},   {0x007F, 0x00A0},    {0x00AD, 0x00AD}, {0x0600, 0x0605}, {0x061C, 0x061C},
    {0x1680, 0x1680},   {0x180E, 0x180E},    {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},
    {0x3000, 0x3000},   {0xD800, 0xF8FF},    {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFB}, {0xFFFE, 0xFFFF},
    {0xE0000, 0xE007F}, {0xF0000, 0x10FFFF},
};

void append_hex(std::string& out, std::string_view before, char32_t value) {
    char digits[8];
    const auto end =
        std::to_chars(digits, digits + sizeof digits, static_cast<std::uint32_t>(value), 16);
    out.append(before).append(digits, end.ptr).append("}");
}

/// Returns the first character of `text` as it is written in a literal.
void append_escaped(std::string& out, std::string_view text, const character& c, char quote) {
    const char first = text.front();
    if (c.size == 1) {
        switch (first) {
            case '\t': out += "\\t"; return;
            case '\n': out += "\\n"; return;
            case '\r': out += "\\r"; return;
            case '\\': out += "\\\\"; return;
            default: break;
        }
        if (first == quote) {
            out.append("\\").push_back(quote);
            return;
        }
        if (static_cast<unsigned char>(first) >= 0x80) {
            append_hex(out, "\\x{", static_cast<unsigned char>(first));
            return;
        }
    }
    if (is_in(unseen_characters, c.code))
        append_hex(out, "\\u{", c.code);
    else
        out.append(text.substr(0, c.size));
}

std::string escape(std::string_view text, char quote) {
    std::string out(1, quote);
    while (!text.empty()) {
        const character c = first_character(text);
        append_escaped(out, text, c, quote);
        text.remove_prefix(c.size);
    }
    out += quote;
    return out;
}

constexpr int default_precision = 6;

template <class Number>
std::to_chars_result to_digits(char* first, char* last, Number x, char type, int precision) {
    // Small letters stand for both.
    const char small = type >= 'A' && type <= 'Z' ? static_cast<char>(type - 'A' + 'a') : type;
    const bool given = precision >= 0;
    const int used = given ? precision : default_precision;
    switch (small) {
        case 'a':
            if (given) return std::to_chars(first, last, x, std::chars_format::hex, precision);
            return std::to_chars(first, last, x, std::chars_format::hex);
        case 'e': return std::to_chars(first, last, x, std::chars_format::scientific, used);
        case 'f': return std::to_chars(first, last, x, std::chars_format::fixed, used);
        case 'g': return std::to_chars(first, last, x, std::chars_format::general, used);
        default:
            if (given) return std::to_chars(first, last, x, std::chars_format::general, precision);
            return std::to_chars(first, last, x);
    }
}

// The alternate form: there is always a point, and `g` keeps its zeros.
std::string with_point(std::string_view digits, char type, int precision) {
    const bool hexadecimal = type == 'a' || type == 'A';
    const std::size_t exponent = std::min(digits.find(hexadecimal ? 'p' : 'e'), digits.size());
    std::string out(digits.substr(0, exponent));
    if (!out.contains('.')) out += '.';
    if (type == 'g' || type == 'G') {
        const std::size_t first = std::min(out.find_first_not_of("0."), out.size());
        const auto is_digit = [](char c) { return c != '.'; };
        const auto from = out.begin() + static_cast<std::ptrdiff_t>(first);
        auto significant = static_cast<std::size_t>(std::count_if(from, out.end(), is_digit));
        // Zero: the digit before the point counts as one.
        if (first == out.size()) significant = out.size() - 1;
        const int asked = precision < 0 ? default_precision : std::max(precision, 1);
        const auto wanted = static_cast<std::size_t>(asked);
        if (wanted > significant) out.append(wanted - significant, '0');
    }
    return out.append(digits.substr(exponent));
}

// `x` has no sign.
template <class Number>
std::string digits_of(Number x, const format_spec& spec, int precision) {
    // Most fit without memory of their own; the largest has all digits of the exponent before the
    // point, and as many after it as requested.
    std::string digits(64, '\0');
    auto end = to_digits(digits.data(), digits.data() + digits.size(), x, spec.type, precision);
    if (end.ec != std::errc()) {
        const auto asked = static_cast<std::size_t>(std::max(precision, default_precision));
        constexpr auto longest =
            static_cast<std::size_t>(std::numeric_limits<Number>::max_exponent10);
        digits.resize(longest + asked + 32);
        end = to_digits(digits.data(), digits.data() + digits.size(), x, spec.type, precision);
    }
    digits.resize(static_cast<std::size_t>(end.ptr - digits.data()));
    if (spec.alternate && std::isfinite(x)) digits = with_point(digits, spec.type, precision);
    if (spec.type >= 'A' && spec.type <= 'Z')
        make_upper(digits.data(), digits.data() + digits.size());
    return digits;
}

template <class Number>
void append_digits(text_room& room, Number x) {
    // -1.7976931348623157e+308 is the longest; a long double has some 30.
    char digits[64];
    const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
    room.append({digits, static_cast<std::size_t>(end - digits)});
}

}  // namespace

// -1 if there is none.
int text_argument::amount_of(const format_amount& amount, const text_argument* all) {
    switch (amount.from) {
        case format_amount::place::here: return amount.value;
        case format_amount::place::argument: return all[amount.value].as_amount();
        default: return -1;
    }
}

std::size_t text_argument::width_of(const format_spec& spec, const text_argument* all) {
    return static_cast<std::size_t>(std::max(amount_of(spec.width, all), 0));
}

int text_argument::as_amount() const {
    // Negative numbers are too large without their sign.
    if (unsigned_ > static_cast<std::uint64_t>(std::numeric_limits<int>::max()))
        throw std::invalid_argument("a width or precision of a format is negative or too large");
    return static_cast<int>(unsigned_);
}

std::string text_argument::text_of_object() const {
    text_room counted(nullptr, 0);
    append_(pointer_, counted);
    std::string text(counted.used(), '\0');
    text_room filled(text.data(), text.size());
    append_(pointer_, filled);
    return text;
}

void text_argument::append_plain(text_room& room) const {
    switch (kind_) {
        case value_kind::text: room.append({text_, size_}); break;
        case value_kind::object: append_(pointer_, room); break;
        case value_kind::boolean: room.append(boolean_ ? "true" : "false"); break;
        case value_kind::character: room.append({&character_, 1}); break;
        case value_kind::signed_integer: append_digits(room, signed_); break;
        case value_kind::unsigned_integer: append_digits(room, unsigned_); break;
        case value_kind::single: append_digits(room, single_); break;
        case value_kind::real: append_digits(room, real_); break;
        case value_kind::long_real: append_digits(room, *long_real_); break;
        case value_kind::pointer: append_integer(room, {}, nullptr); break;
    }
}

void text_argument::append_text(text_room& room, const format_spec& spec,
                                const text_argument* all) const {
    std::string made;
    std::string_view text = made;
    if (kind_ == value_kind::object) text = made = text_of_object();
    if (kind_ == value_kind::boolean) text = made = name_of(boolean_, spec.localized);
    if (kind_ == value_kind::text) text = {text_, size_};
    if (kind_ == value_kind::character) text = {&character_, 1};
    if (spec.type == '?') {
        text = made = escape(text, kind_ == value_kind::character ? '\'' : '"');
    }
    const int precision = amount_of(spec.precision, all);
    const std::size_t most =
        precision < 0 ? std::string_view::npos : static_cast<std::size_t>(precision);
    append_padded(room, measure(text, most), width_of(spec, all), spec, '<');
}

void text_argument::append_integer(text_room& room, const format_spec& spec,
                                   const text_argument* all) const {
    const bool is_character = kind_ == value_kind::character;
    const bool negative = kind_ == value_kind::signed_integer && signed_ < 0;
    std::uint64_t magnitude = unsigned_;
    if (negative) magnitude = 0 - magnitude;
    if (is_character) magnitude = static_cast<unsigned char>(character_);
    if (kind_ == value_kind::boolean) magnitude = boolean_ ? 1 : 0;
    if (kind_ == value_kind::pointer) magnitude = reinterpret_cast<std::uintptr_t>(pointer_);
    const std::size_t width = all == nullptr ? 0 : width_of(spec, all);
    if (spec.type == 'c' || (is_character && spec.type == '\0')) {
        const std::uint64_t most = is_character ? 255 : negative ? 128 : 127;
        if (magnitude > most) throw std::invalid_argument("{:c} of an integer that is not a char");
        const char c = static_cast<char>(negative ? 0 - magnitude : magnitude);
        append_padded(room, {{&c, 1}, 1}, width, spec, '<');
        return;
    }
    const bool address = kind_ == value_kind::pointer;
    const base b = base_of(address ? 'x' : spec.type);
    char digits[64];
    char* end = std::to_chars(digits, digits + sizeof digits, magnitude, b.number).ptr;
    if (spec.type == 'X') make_upper(digits, end);
    std::string prefix(sign_of(negative, spec.sign));
    const bool zero_in_octal = b.number == 8 && magnitude == 0;
    if (address || (spec.alternate && !zero_in_octal)) prefix += b.prefix;
    const std::string_view plain(digits, static_cast<std::size_t>(end - digits));
    const std::string grouped = spec.localized ? localize(plain, true) : std::string();
    append_number(room, prefix, spec.localized ? grouped : plain, width, spec, spec.zeros);
}

void text_argument::append_real(text_room& room, const format_spec& spec,
                                const text_argument* all) const {
    const int precision = amount_of(spec.precision, all);
    const auto append = [&](auto x) {
        std::string digits = digits_of(std::abs(x), spec, precision);
        if (spec.localized) digits = localize(digits, false);
        append_number(room, sign_of(std::signbit(x), spec.sign), digits, width_of(spec, all), spec,
                      spec.zeros && std::isfinite(x));
    };
    if (kind_ == value_kind::single)
        append(single_);
    else if (kind_ == value_kind::real)
        append(real_);
    else
        append(*long_real_);
}

void text_argument::append_to(text_room& room, const format_spec& spec,
                              const text_argument* all) const {
    if (spec.plain()) return append_plain(room);
    if (is_floating_point(kind_)) return append_real(room, spec, all);
    const bool is_word = kind_ == value_kind::boolean && !is_written_as_number(kind_, spec.type);
    if (is_word || spec.type == '?' || kind_ == value_kind::text || kind_ == value_kind::object)
        return append_text(room, spec, all);
    append_integer(room, spec, all);
}

std::size_t format_into(text_room room, std::string_view format, const text_argument* arguments) {
    format_parser parser(format);
    while (!parser.at_end()) {
        const format_parser::piece p = parser.next();
        room.append(p.literal);
        if (p.has_value) arguments[p.argument].append_to(room, p.spec, arguments);
    }
    return room.used();
}

}  // namespace coracle::io::detail
