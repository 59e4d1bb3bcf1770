#include "redis/bus_message.hpp"

#include <cstddef>

namespace coracle::redis::detail {
namespace {

// "CT1", flags, the process, the count: all numbers in network order.
constexpr std::string_view magic = "CT1";
constexpr std::size_t number_size = 8;
constexpr std::size_t header_size = magic.size() + 1 + 3 * number_size;
constexpr unsigned is_binary = 1;
constexpr unsigned is_retained = 2;

void append_number(std::string& to, std::uint64_t n) {
    for (int shift = 56; shift >= 0; shift -= 8) to += static_cast<char>((n >> shift) & 0xff);
}

std::uint64_t take_number(std::string_view& from) noexcept {
    std::uint64_t n = 0;
    for (std::size_t i = 0; i < number_size; ++i) {
        n = (n << 8) | static_cast<unsigned char>(from[i]);
    }
    from.remove_prefix(number_size);
    return n;
}

}  // namespace

std::string bus_message::encode() const {
    std::string bytes;
    bytes.reserve(header_size + payload.size());
    bytes += magic;
    unsigned flags = 0;
    if (type == websocket::message_type::binary) flags |= is_binary;
    if (retain) flags |= is_retained;
    bytes += static_cast<char>(flags);
    append_number(bytes, from[0]);
    append_number(bytes, from[1]);
    append_number(bytes, number);
    bytes += payload;
    return bytes;
}

std::optional<bus_message> bus_message::parse(std::string_view bytes) noexcept {
    if (bytes.size() < header_size || !bytes.starts_with(magic)) return {};
    bytes.remove_prefix(magic.size());
    const auto flags = static_cast<unsigned char>(bytes.front());
    if (flags > (is_binary | is_retained)) return {};
    bytes.remove_prefix(1);
    bus_message m;
    if ((flags & is_binary) != 0) m.type = websocket::message_type::binary;
    m.retain = (flags & is_retained) != 0;
    m.from[0] = take_number(bytes);
    m.from[1] = take_number(bytes);
    m.number = take_number(bytes);
    m.payload = bytes;
    return m;
}

std::string escape_glob(std::string_view text) {
    std::string glob;
    for (const char c : text) {
        if (std::string_view("*?[]^\\").contains(c)) glob += '\\';
        glob += c;
    }
    return glob;
}

std::string glob_of(std::string_view pattern) {
    std::string glob;
    while (!pattern.empty()) {
        const std::size_t point = pattern.find('.');
        const std::string_view token = pattern.substr(0, point);
        const bool any = token == "*" || token == ">";
        glob += any ? std::string("*") : escape_glob(token);
        if (point == std::string_view::npos) break;
        glob += '.';
        pattern.remove_prefix(point + 1);
    }
    return glob;
}

}  // namespace coracle::redis::detail
