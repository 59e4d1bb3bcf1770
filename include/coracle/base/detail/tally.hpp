#pragma once

#include <atomic>
#include <cstdint>

namespace coracle {

/// A count that one thread writes and any thread may read: a load and a store, no locked
/// instruction.
class tally {
public:
    tally& operator++() noexcept { return *this += 1; }
    tally& operator--() noexcept { return *this += ~std::uint64_t{0}; }
    tally& operator+=(std::uint64_t n) noexcept {
        value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        return *this;
    }
    operator std::uint64_t() const noexcept { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::uint64_t> value_{0};
};

}  // namespace coracle
