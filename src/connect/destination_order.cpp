#include "connect/destination_order.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

namespace coracle::connect {
namespace {

struct policy {
    std::uint8_t prefix[4];
    unsigned bits;
    int precedence;
};

// RFC 6724 section 2.1, but for ::1 and ::ffff:0:0/96, which four bytes cannot distinguish.
constexpr policy policies[] = {
    {{0x20, 0x02, 0x00, 0x00}, 16, 30},  // 6to4
    {{0x20, 0x01, 0x00, 0x00}, 32, 5},   // Teredo
    {{0xfc, 0x00, 0x00, 0x00}, 7, 3},    // unique local
    {{0xfe, 0xc0, 0x00, 0x00}, 10, 1},   // site local
    {{0x3f, 0xfe, 0x00, 0x00}, 16, 1},   // 6bone
};
constexpr int precedence_of_loopback = 50;
constexpr int precedence_of_v6 = 40;
constexpr int precedence_of_v4 = 35;

constexpr int scope_link = 2;
constexpr int scope_site = 5;
constexpr int scope_global = 14;

bool starts_with(std::span<const std::uint8_t> bytes, const policy& p) noexcept {
    unsigned left = p.bits;
    for (std::size_t i = 0; left != 0; ++i) {
        const unsigned here = std::min(left, 8u);
        const unsigned mask = 0xffu << (8 - here) & 0xffu;
        if ((bytes[i] & mask) != (p.prefix[i] & mask)) return false;
        left -= here;
    }
    return true;
}

int precedence(const net::address& a) noexcept {
    if (a.family() != net::family::v6 || a.is_mapped()) return precedence_of_v4;
    if (a.is_loopback()) return precedence_of_loopback;
    for (const policy& p : policies) {
        if (starts_with(a.bytes(), p)) return p.precedence;
    }
    return precedence_of_v6;
}

/// RFC 6724 sections 3.1 and 3.2.
int scope(const net::address& a) noexcept {
    const auto b = a.bytes();
    if (a.is_loopback()) return scope_link;
    if (a.family() == net::family::v4)
        return b[0] == 169 && b[1] == 254 ? scope_link : scope_global;
    if (b[0] == 0xff) return b[1] & 0x0f;
    if (b[0] == 0xfe && (b[1] & 0xc0) == 0x80) return scope_link;
    return b[0] == 0xfe && (b[1] & 0xc0) == 0xc0 ? scope_site : scope_global;
}

}  // namespace

void sort_destinations(std::vector<net::address>& all) {
    const auto better = [](const net::address& a, const net::address& b) {
        const int pa = precedence(a);
        const int pb = precedence(b);
        return pa != pb ? pa > pb : scope(a) < scope(b);
    };
    // Stable, and there are few. std::stable_sort warns with clang and libstdc++ 12.
    for (auto next = all.begin(); next != all.end(); ++next) {
        std::rotate(std::upper_bound(all.begin(), next, *next, better), next, std::next(next));
    }
}

}  // namespace coracle::connect
