#pragma once

#include "net/resolver/records.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace coracle::net::detail {

/// The response of a name server for one name and one kind of record.
struct dns_response {
    /// Empty when there are records.
    std::error_code failure;
    records found;
    /// The lifetime in seconds; 0 if the response has none.
    std::uint32_t ttl = 0;
};

/// Reads the response to a query for records of `name`, in lower case, following aliases within it.
/// Takes the first `most` records.
dns_response read_response(std::string_view message, std::string_view name, record_kind wanted,
                           std::size_t most);

}  // namespace coracle::net::detail
