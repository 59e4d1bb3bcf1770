#include "net/host_text.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>
#include <string_view>

namespace coracle::net::detail {
namespace {

using bytes = std::span<const std::uint8_t>;

char* write_number(char* to, unsigned n, int base) noexcept {
    return std::to_chars(to, to + 5, n, base).ptr;
}

char* write_v4(char* to, bytes b) noexcept {
    for (std::size_t i = 0; i != 4; ++i) {
        if (i != 0) *to++ = '.';
        to = write_number(to, b[i], 10);
    }
    return to;
}

unsigned group(bytes b, std::size_t i) noexcept {
    return static_cast<unsigned>(b[2 * i]) << 8 | b[2 * i + 1];
}

/// A run of groups that are zero.
struct run {
    std::size_t begin = 8;
    std::size_t size = 1;  ///< a single one is not left out (RFC 5952 section 4.2.2)
    std::size_t end() const noexcept { return begin + size; }
};

/// Returns the longest one, of equal ones the first (section 4.2.3).
run longest_run(bytes b) noexcept {
    run longest;
    for (std::size_t i = 0; i != 8;) {
        run here{i, 0};
        while (i != 8 && group(b, i) == 0) ++i, ++here.size;
        if (here.size > longest.size) longest = here;
        if (here.size == 0) ++i;
    }
    return longest;
}

char* write_v6(char* to, bytes b) noexcept {
    const run left_out = longest_run(b);
    for (std::size_t i = 0; i != 8;) {
        if (i == left_out.begin) {
            *to++ = ':';
            i = left_out.end();
            if (i == 8) *to++ = ':';
            continue;
        }
        if (i != 0) *to++ = ':';
        to = write_number(to, group(b, i), 16);
        ++i;
    }
    return to;
}

/// Returns true for addresses that hold one of IPv4, which `address::host` shows as such, and those
/// that may have a scope.
bool is_special(bytes b) noexcept {
    const bool begins_with_zeros = group(b, 0) == 0 && group(b, 1) == 0 && group(b, 2) == 0;
    return begins_with_zeros || b[0] == 0xfe || b[0] == 0xff;
}

constexpr std::uint8_t loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

}  // namespace

std::size_t write_host(const address& a, char* to) {
    const bytes b = a.bytes();
    if (a.family() == family::v4) return static_cast<std::size_t>(write_v4(to, b) - to);
    if (a.family() == family::v6) {
        if (std::ranges::equal(b, loopback)) return std::string_view("::1").copy(to, 3);
        if (!is_special(b)) return static_cast<std::size_t>(write_v6(to, b) - to);
    }
    return a.host().copy(to, longest_host);
}

}  // namespace coracle::net::detail
