#pragma once

#include <coracle/http/server.hpp>

#include <atomic>
#include <cstddef>

namespace coracle::http::detail {

/// The counters of one loop. One writer, so counting is a load and a store, never a locked
/// instruction; other threads read them relaxed.
class loop_counters {
public:
    using member = std::uint64_t server_counters::*;

    void add(member which, std::uint64_t n = 1) noexcept {
        auto& value = cell(which);
        value.store(value.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    void subtract(member which) noexcept {
        auto& value = cell(which);
        value.store(value.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    std::uint64_t get(member which) const noexcept {
        return const_cast<loop_counters*>(this)->cell(which).load(std::memory_order_relaxed);
    }
    void add_to(server_counters& sum) const noexcept {
        auto* out = reinterpret_cast<std::uint64_t*>(&sum);
        for (std::size_t i = 0; i != count; ++i) {
            out[i] += cells_[i].load(std::memory_order_relaxed);
        }
    }

private:
    static constexpr std::size_t count = sizeof(server_counters) / sizeof(std::uint64_t);

    std::atomic<std::uint64_t>& cell(member which) noexcept {
        static constexpr server_counters layout{};
        const auto* at = &(layout.*which);
        return cells_[at - reinterpret_cast<const std::uint64_t*>(&layout)];
    }

    std::atomic<std::uint64_t> cells_[count]{};
};

}  // namespace coracle::http::detail
