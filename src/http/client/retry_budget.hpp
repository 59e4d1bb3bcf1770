#pragma once

#include <cstdint>

namespace coracle::http::detail {

/// How many retries the calls of a client may still have: a share of the calls, so that a server
/// that is down is not asked many times as often as one that works.
class retry_budget {
public:
    /// What a client that has made no calls yet may retry.
    static constexpr std::uint32_t first = 10;

    void call_begins(unsigned percent) noexcept {
        const std::uint32_t most = percent > first * unit ? percent : first * unit;
        saved_ = saved_ + percent < most ? saved_ + percent : most;
    }
    /// False when it is used up.
    bool take() noexcept {
        if (saved_ < unit) return false;
        saved_ -= unit;
        return true;
    }
    /// What was taken is not used.
    void give_back() noexcept { saved_ += unit; }

private:
    static constexpr std::uint32_t unit = 100;
    std::uint32_t saved_ = first * unit;
};

}  // namespace coracle::http::detail
