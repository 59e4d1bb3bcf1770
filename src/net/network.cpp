#include "base/whole_number.hpp"

#include <coracle/net/network.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cstring>

namespace coracle::net {
namespace {

/// Returns true if the first `bits` bits of two addresses are equal.
bool same_prefix(const std::uint8_t* a, const std::uint8_t* b, unsigned bits) noexcept {
    if (std::memcmp(a, b, bits / 8) != 0) return false;
    if (bits % 8 == 0) return true;
    const unsigned mask = 0xff00U >> (bits % 8) & 0xffU;
    return ((a[bits / 8] ^ b[bits / 8]) & mask) == 0;
}

bool ends_with_zeros(std::span<const std::uint8_t> bytes, unsigned prefix) noexcept {
    for (unsigned bit = prefix; bit != bytes.size() * 8; ++bit) {
        if ((bytes[bit / 8] >> (7 - bit % 8) & 1) != 0) return false;
    }
    return true;
}

}  // namespace

std::optional<address> parse_ip(std::string_view text, std::uint16_t port) noexcept {
    char copy[INET6_ADDRSTRLEN] = "";
    if (text.empty() || text.size() >= sizeof copy || text.find('\0') != text.npos) return {};
    std::memcpy(copy, text.data(), text.size());
    std::array<std::uint8_t, 4> four{};
    if (::inet_pton(AF_INET, copy, four.data()) == 1) return address::v4(four, port);
    std::array<std::uint8_t, 16> sixteen{};
    if (::inet_pton(AF_INET6, copy, sixteen.data()) == 1) return address::v6(sixteen, port);
    return {};
}

std::expected<network, error> network::parse(std::string_view text) {
    const auto bad = [text] {
        return std::unexpected(error(std::errc::invalid_argument, "network").on(text));
    };
    network n;
    if (text == "unix:") {
        n.base_ = *address::parse("unix:*");
        return n;
    }
    const std::size_t slash = text.find('/');
    const auto base = parse_ip(text.substr(0, slash));
    if (!base) return bad();
    const auto bits = static_cast<unsigned>(base->bytes().size() * 8);
    if (slash == std::string_view::npos) return around(*base, bits).unmapped();
    const auto prefix = coracle::detail::whole_number<unsigned>(text.substr(slash + 1));
    if (!prefix || *prefix > bits) return bad();
    if (!ends_with_zeros(base->bytes(), *prefix)) return bad();
    return around(*base, *prefix).unmapped();
}

network network::around(const address& a, unsigned prefix) noexcept {
    std::array<std::uint8_t, 16> bytes{};
    const auto all = a.bytes();
    network n;
    n.prefix_ = std::min(prefix, static_cast<unsigned>(all.size() * 8));
    for (unsigned bit = 0; bit != n.prefix_; ++bit) {
        bytes[bit / 8] =
            static_cast<std::uint8_t>(bytes[bit / 8] | (all[bit / 8] & 0x80U >> bit % 8));
    }
    n.base_ = a.family() == net::family::v4
                  ? address::v4({bytes[0], bytes[1], bytes[2], bytes[3]}, 0)
                  : address::v6(bytes, 0);
    return n;
}

network network::unmapped() const noexcept {
    constexpr unsigned mapped = 96;
    if (!base_.is_mapped() || prefix_ < mapped) return *this;
    const auto four = base_.bytes().last(4);
    return around(address::v4({four[0], four[1], four[2], four[3]}, 0), prefix_ - mapped);
}

bool network::contains(const address& a) const noexcept {
    if (family() == net::family::unix_path) return a.family() == net::family::unix_path;
    const auto base = base_.bytes();
    auto bytes = a.bytes();
    if (a.is_mapped() && base.size() == 4) bytes = bytes.last(4);
    return bytes.size() == base.size() && !base.empty() &&
           same_prefix(base.data(), bytes.data(), prefix_);
}

bool is_in_any(std::span<const network> networks, const address& a) noexcept {
    return std::any_of(networks.begin(), networks.end(),
                       [&a](const network& n) { return n.contains(a); });
}

std::string network::to_string() const {
    if (family() == net::family::unix_path) return "unix:";
    const bool single = prefix_ == base_.bytes().size() * 8;
    return single ? base_.host() : base_.host() + '/' + std::to_string(prefix_);
}

}  // namespace coracle::net
