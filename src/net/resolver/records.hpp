#pragma once

#include <coracle/net/resolver.hpp>

#include <cstdint>
#include <vector>

namespace coracle::net::detail {

/// The records that a query is for: A, AAAA or MX.
enum class record_kind : std::uint8_t { v4, v6, mail };

constexpr record_kind kind_of(net::family f) noexcept {
    return f == net::family::v4 ? record_kind::v4 : record_kind::v6;
}

/// The records of one kind that a name has.
struct records {
    std::vector<address> addresses = {};  ///< port 0
    std::vector<mail_host> mail = {};
};

}  // namespace coracle::net::detail
