#pragma once

#include <coracle/base/error.hpp>
#include <coracle/net/address.hpp>

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::connect {

/// Addresses that stand in for what a resolver would say.
class overrides {
public:
    /// Reads "host:port:address[,address...]". "*" as host or port: any. IPv6 addresses may have
    /// brackets. The first entry that fits a host and port is taken, but those that name the host
    /// go before "*". Fails with invalid_argument, operation "resolve".
    std::expected<void, error> add(std::string_view entry_text);

    /// The addresses for this host, with the port. Case and a trailing dot do not matter.
    std::optional<std::vector<net::address>> find(std::string_view host, std::uint16_t port) const;
    bool empty() const noexcept { return entries_.empty(); }

private:
    struct entry {
        std::string host;        ///< in lower case; "*": any
        std::uint16_t port = 0;  ///< 0: any
        std::vector<net::address> addresses;
    };

    const entry* find_named(std::string_view name, std::uint16_t port) const noexcept;

    std::vector<entry> entries_;
};

}  // namespace coracle::connect
