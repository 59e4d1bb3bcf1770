#pragma once

#include <cstdint>

namespace coracle::testing::detail {

/// A stream of numbers that its seed decides: xoshiro256**, seeded by splitmix64.
class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept {
        for (auto& word : state_) word = mixed(seed += 0x9e3779b97f4a7c15);
    }

    std::uint64_t next() noexcept {
        const std::uint64_t out = rotated(state_[1] * 5, 7) * 9;
        const std::uint64_t shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotated(state_[3], 45);
        return out;
    }

    /// Returns a number from 0 to `most`, both included.
    std::uint64_t up_to(std::uint64_t most) noexcept {
        return most == UINT64_MAX ? next() : next() % (most + 1);
    }
    /// True once in `n` times.
    bool one_in(std::uint64_t n) noexcept { return next() % n == 0; }

private:
    static std::uint64_t rotated(std::uint64_t x, unsigned by) noexcept {
        return x << by | x >> (64 - by);
    }
    static std::uint64_t mixed(std::uint64_t x) noexcept {
        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
        x = (x ^ x >> 27) * 0x94d049bb133111eb;
        return x ^ x >> 31;
    }

    std::uint64_t state_[4];
};

}  // namespace coracle::testing::detail
