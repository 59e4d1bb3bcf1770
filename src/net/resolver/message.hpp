#pragma once

#include <coracle/net/resolver.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>
#include <vector>

namespace coracle::net::detail {

/// What an answer of a name server says about one name and one family.
struct dns_answer {
    /// Empty when there are addresses.
    std::error_code failure;
    std::vector<address> found;  ///< port 0
    /// Seconds for which this holds; 0 where the answer does not say.
    std::uint32_t ttl = 0;
};

/// Reads the message that answers a question for the addresses of `name`, in lower case, following
/// aliases within it. Takes the first `most` addresses.
dns_answer read_answer(std::string_view message, std::string_view name, net::family wanted,
                       std::size_t most);

}  // namespace coracle::net::detail
