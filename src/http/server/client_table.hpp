#pragma once

#include <coracle/net/address.hpp>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace coracle::http::detail {

/// Counts the connections of each client, over all loops of a server. Thread-safe. A client is an
/// IPv4 address, also a mapped one, or the first 64 bits of an IPv6 address, since a client usually
/// has all addresses of such a network. Connections of Unix sockets are not counted.
class client_table {
public:
    explicit client_table(std::uint32_t most) noexcept : most_(most) {}

    /// Counts a connection. Returns false if this client has as many as it may have.
    bool take(const net::address& client);
    /// Counts the end of a connection.
    void give_back(const net::address& client) noexcept;

private:
    std::uint32_t most_;
    std::mutex mutex_;
    std::unordered_map<std::uint64_t, std::uint32_t> connections_;
};

}  // namespace coracle::http::detail
