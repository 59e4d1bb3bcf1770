#pragma once

#include <coracle/websocket/options.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace coracle::websocket::detail {

/// The counters of a route or a client, which connections on several loops add to: when one begins
/// and ends, and where a limit is reached; never for a message.
class tallies {
public:
    using member = std::uint64_t counters::*;

    void add(member which) noexcept { cell(which).fetch_add(1, std::memory_order_relaxed); }
    void subtract(member which) noexcept { cell(which).fetch_sub(1, std::memory_order_relaxed); }
    counters read() const noexcept {
        counters sum;
        auto* const out = reinterpret_cast<std::uint64_t*>(&sum);
        for (std::size_t i = 0; i != count; ++i) {
            out[i] = cells_[i].load(std::memory_order_relaxed);
        }
        return sum;
    }

private:
    static constexpr std::size_t count = sizeof(counters) / sizeof(std::uint64_t);

    std::atomic<std::uint64_t>& cell(member which) noexcept {
        static constexpr counters layout{};
        const auto* const at = &(layout.*which);
        return cells_[at - reinterpret_cast<const std::uint64_t*>(&layout)];
    }

    std::atomic<std::uint64_t> cells_[count]{};
};

}  // namespace coracle::websocket::detail
