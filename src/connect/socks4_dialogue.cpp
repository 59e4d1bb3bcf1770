#include "connect/socks4_dialogue.hpp"

#include <coracle/net/network.hpp>

#include <algorithm>

namespace coracle::connect {
namespace {

constexpr std::size_t reply_bytes = 8;
constexpr char granted = 90;
constexpr char rejected = 91;
constexpr char identd_unreachable = 92;
constexpr char identd_mismatch = 93;

}  // namespace

socks4_dialogue::socks4_dialogue(const proxy& p, std::string_view host, std::uint16_t port) {
    std::string& out = begin_output(10 + p.user().size() + host.size());
    out += "\x04\x01";
    out += static_cast<char>(port >> 8);
    out += static_cast<char>(port & 0xff);
    const auto ip = net::parse_ip(host);
    // 0.0.0.x: the name follows.
    constexpr std::uint8_t by_name[] = {0, 0, 0, 1};
    const std::span<const std::uint8_t> address = ip ? ip->bytes() : by_name;
    out.append(address.begin(), address.end());
    out += p.user();
    out += '\0';
    if (!ip) out.append(host).push_back('\0');
}

std::size_t socks4_dialogue::take(std::string_view bytes) {
    const std::size_t n = std::min(bytes.size(), reply_bytes - reply_.size());
    reply_ += bytes.substr(0, n);
    if (!reply_.empty() && reply_[0] != 0) {
        malformed("not a reply of SOCKS4");
        return n;
    }
    if (reply_.size() < 2) return n;
    switch (reply_[1]) {
        case granted:
            if (reply_.size() == reply_bytes) open();
            return n;
        case rejected: refuse(proxy_errc::general_failure); return n;
        case identd_unreachable: refuse(proxy_errc::identd_unreachable); return n;
        case identd_mismatch: refuse(proxy_errc::identd_mismatch); return n;
        default: malformed("an unknown reply of SOCKS4"); return n;
    }
}

}  // namespace coracle::connect
