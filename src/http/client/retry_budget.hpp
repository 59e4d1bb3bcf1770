#pragma once

#include <cstdint>

namespace coracle::http::detail {

/// The retries that the calls of a client may still make: a share of all calls, so that retries do
/// not multiply the load of a server in trouble.
class retry_budget {
public:
    /// The budget of a new client.
    static constexpr std::uint64_t first = 10;

    void call_begins(unsigned percent) noexcept {
        const std::uint64_t most = percent > first * unit ? percent : first * unit;
        saved_ = saved_ + percent < most ? saved_ + percent : most;
    }
    /// Takes one retry. Returns false when the budget is used up.
    bool take() noexcept {
        if (saved_ < unit) return false;
        saved_ -= unit;
        return true;
    }
    /// Returns a retry that was taken and not made.
    void give_back() noexcept { saved_ += unit; }

private:
    static constexpr std::uint64_t unit = 100;
    std::uint64_t saved_ = first * unit;
};

}  // namespace coracle::http::detail
