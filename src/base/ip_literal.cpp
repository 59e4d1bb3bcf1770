#include "base/ip_literal.hpp"

#include "base/ascii.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace coracle::detail {
namespace {

using groups = std::array<std::uint16_t, 8>;

// Removes up to three digits from `text`.
std::optional<unsigned> take_octet(std::string_view& text) noexcept {
    unsigned value = 0;
    std::size_t size = 0;
    while (size < text.size() && size < 3 && is_digit(text[size])) {
        value = value * 10 + static_cast<unsigned>(text[size++] - '0');
    }
    if (size == 0 || value > 255 || (size > 1 && text.front() == '0')) return std::nullopt;
    text.remove_prefix(size);
    return value;
}

std::optional<std::uint32_t> read_ipv4(std::string_view text) noexcept {
    std::uint32_t address = 0;
    for (int i = 0; i < 4; ++i) {
        if (i > 0) {
            if (!text.starts_with('.')) return std::nullopt;
            text.remove_prefix(1);
        }
        const auto octet = take_octet(text);
        if (!octet) return std::nullopt;
        address = address << 8 | *octet;
    }
    return text.empty() ? std::optional(address) : std::nullopt;
}

// Removes up to four hexadecimal digits from `text`.
std::optional<std::uint16_t> take_group(std::string_view& text) noexcept {
    unsigned value = 0;
    std::size_t size = 0;
    while (size < text.size() && size < 4 && hex_value(text[size]) >= 0) {
        value = value << 4 | static_cast<unsigned>(hex_value(text[size++]));
    }
    if (size == 0) return std::nullopt;
    text.remove_prefix(size);
    return static_cast<std::uint16_t>(value);
}

// Reads "1:2:3" or "1:2:127.0.0.1" into `out` and returns the number of groups; nothing if it is
// malformed. `may_have_ipv4`: this is the end of the address.
std::optional<std::size_t> read_groups(std::string_view text, bool may_have_ipv4, groups& out) {
    std::size_t count = 0;
    if (text.empty()) return count;
    for (;;) {
        if (may_have_ipv4 && count <= 6) {
            if (const auto v4 = read_ipv4(text)) {
                out[count++] = static_cast<std::uint16_t>(*v4 >> 16);
                out[count++] = static_cast<std::uint16_t>(*v4);
                return count;
            }
        }
        const auto group = take_group(text);
        if (!group || count == out.size()) return std::nullopt;
        out[count++] = *group;
        if (text.empty()) return count;
        if (!text.starts_with(':')) return std::nullopt;
        text.remove_prefix(1);
    }
}

std::optional<groups> read_ipv6(std::string_view text) {
    groups address{};
    const std::size_t gap = text.find("::");
    if (gap == std::string_view::npos) {
        return read_groups(text, true, address) == address.size() ? std::optional(address)
                                                                  : std::nullopt;
    }
    groups tail{};
    const auto before = read_groups(text.substr(0, gap), false, address);
    const auto after = read_groups(text.substr(gap + 2), true, tail);
    if (!before || !after || *before + *after >= address.size()) return std::nullopt;
    for (std::size_t i = 0; i < *after; ++i) address[address.size() - *after + i] = tail[i];
    return address;
}

// RFC 5952 section 4.2: the first of the longest runs of zeros, if it has two groups or more.
std::size_t longest_zeros(const groups& address, std::size_t& size) noexcept {
    std::size_t begin = address.size();
    size = 1;
    for (std::size_t i = 0; i < address.size(); ++i) {
        std::size_t end = i;
        while (end < address.size() && address[end] == 0) ++end;
        if (end - i > size) {
            begin = i;
            size = end - i;
        }
    }
    return begin;
}

void append_group(std::string& out, unsigned group) {
    int shift = 12;
    while (shift > 0 && group >> shift == 0) shift -= 4;
    for (; shift >= 0; shift -= 4) out += "0123456789abcdef"[group >> shift & 15U];
}

}  // namespace

bool is_ipv4(std::string_view text) noexcept {
    return read_ipv4(text).has_value();
}

bool append_ipv6(std::string& out, std::string_view text) {
    const auto address = read_ipv6(text);
    if (!address) return false;
    std::size_t zeros = 0;
    const std::size_t gap = longest_zeros(*address, zeros);
    // RFC 5952 section 5: an IPv4 address that is mapped is read as one.
    const bool mapped = gap == 0 && zeros == 5 && (*address)[5] == 0xffff;
    for (std::size_t i = 0; i < (mapped ? 6 : address->size()); ++i) {
        if (i == gap) {
            out += "::";
            i += zeros - 1;
            continue;
        }
        if (i > 0 && out.back() != ':') out += ':';
        append_group(out, (*address)[i]);
    }
    if (mapped) {
        for (const unsigned shift : {24U, 16U, 8U, 0U}) {
            const std::uint32_t v4 = std::uint32_t{(*address)[6]} << 16 | (*address)[7];
            out += shift == 24 ? ':' : '.';
            out += std::to_string(v4 >> shift & 255U);
        }
    }
    return true;
}

}  // namespace coracle::detail
