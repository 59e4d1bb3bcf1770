#pragma once

#include "base/lru_map.hpp"

#include <coracle/runtime/detail/short_lock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::http::detail {

/// The uses of nonces, so that none is used twice with the same count. Thread-safe.
class nonce_table {
public:
    explicit nonce_table(std::size_t most) noexcept : most_(most) {}

    /// Notes that the nonce, made at `made` (its order among the others), was used with `count`.
    /// False where it was before, or nobody knows any more: its entry was dropped for others.
    bool use(std::string_view nonce, std::int64_t made, std::uint32_t count);
    std::size_t size() const noexcept;

private:
    struct entry {
        std::int64_t made;
        std::uint32_t highest;  ///< count
        std::uint64_t used;     ///< bit i: `highest` - i was used
    };

    static bool note(entry& e, std::uint32_t count) noexcept;

    mutable coracle::detail::short_lock lock_;
    coracle::detail::lru_map<std::string, entry> entries_;
    std::size_t most_;
    /// Nonces that are not older than it were all kept from their first use on.
    std::int64_t dropped_until_ = INT64_MIN;
};

}  // namespace coracle::http::detail
