#include "http/server/client_table.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace coracle::http::detail {
namespace {

std::uint64_t number_of(std::span<const std::uint8_t> bytes) noexcept {
    std::uint64_t n = 0;
    for (const std::uint8_t b : bytes) n = n << 8 | b;
    return n;
}

std::optional<std::uint64_t> key_of(const net::address& client) noexcept {
    // No client has an IPv6 address with this prefix, which is reserved (RFC 4291 section 4).
    constexpr std::uint64_t is_v4 = std::uint64_t{1} << 32;
    const auto bytes = client.bytes();
    if (bytes.empty()) return std::nullopt;
    if (bytes.size() == 4 || client.is_mapped()) return is_v4 | number_of(bytes.last(4));
    return number_of(bytes.first(8));
}

}  // namespace

bool client_table::take(const net::address& client) {
    const auto key = key_of(client);
    if (!key) return true;
    const std::lock_guard lock(mutex_);
    std::uint32_t& count = connections_[*key];
    if (count >= most_) return false;
    ++count;
    return true;
}

void client_table::give_back(const net::address& client) noexcept {
    const auto key = key_of(client);
    if (!key) return;
    const std::lock_guard lock(mutex_);
    const auto found = connections_.find(*key);
    if (found == connections_.end()) return;
    if (--found->second == 0) connections_.erase(found);
}

}  // namespace coracle::http::detail
