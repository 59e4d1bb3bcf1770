#include <coracle/io/text_format.hpp>

#include <charconv>

namespace coracle::io::detail {
namespace {

template <class Number>
void append_number(text_room& room, Number x) {
    // -1.7976931348623157e+308 is the longest.
    char digits[32];
    const auto end = std::to_chars(digits, digits + sizeof digits, x).ptr;
    room.append({digits, static_cast<std::size_t>(end - digits)});
}

}  // namespace

void text_argument::append_to(text_room& room) const {
    switch (kind_) {
        case kind::text: room.append({text_, size_}); break;
        case kind::character: room.append({&character_, 1}); break;
        case kind::signed_integer: append_number(room, signed_); break;
        case kind::unsigned_integer: append_number(room, unsigned_); break;
        case kind::single: append_number(room, single_); break;
        case kind::real: append_number(room, real_); break;
        case kind::object: append_(object_, room); break;
    }
}

std::size_t format_into(text_room room, std::string_view format, const text_argument* arguments) {
    for (;;) {
        const std::size_t brace = format.find_first_of("{}");
        room.append(format.substr(0, brace));
        if (brace == std::string_view::npos) return room.used();
        if (format[brace] == '{' && format[brace + 1] == '}')
            (arguments++)->append_to(room);
        else
            room.append(format.substr(brace, 1));
        format.remove_prefix(brace + 2);
    }
}

}  // namespace coracle::io::detail
