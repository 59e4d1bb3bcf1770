#pragma once

#include "support/backends.hpp"

#include <cstddef>
#include <expected>
#include <utility>
#include <variant>

namespace coracle::testing {

/// Lets arrive what was sent: virtual time where there is such, turns of the loop elsewhere.
inline task<> settle() {
    if (!loop::current()->backend().is_of_the_system())
        co_await sleep_for(std::chrono::seconds(10));
    co_await turns(3);
}

/// Lets a task go on where the loop has run all that was ready: what it now leaves for the next
/// turn stands beside what this turn still brings.
class last_of_turn final : public coracle::detail::leaf<last_of_turn, void> {
public:
    static constexpr const char* name = "last_of_turn";
    bool start() noexcept {
        owner().hand_over(*this);
        return false;
    }
    void cancel() noexcept override { mark_cancelled(); }
    std::expected<void, error> result() const noexcept { return {}; }
};

// With a value of a type of its own.
inline task<char> end_of_turn() {
    co_await sleep_for(duration::zero());
    co_return 'e';
}
inline task<char> later_turn(int n) {
    co_await turns(n);
    co_return 'l';
}
inline task<char> something_else(std::size_t round) {
    // Now and then late enough for a backend to look at what is there.
    switch (round % 4) {
        case 0: return later_turn(3);
        case 1: return later_turn(1);
        default: return end_of_turn();
    }
}

/// Awaits what `make` gives in selections with something else that ends at about the same time,
/// without a share of the turn left, until `n` were received, or it is clear that they never will.
template <class Make, class Count>
task<std::size_t> collect(Make make, Count count, std::size_t n) {
    loop& l = *loop::current();
    std::size_t came = 0;
    for (std::size_t i = 0; came < n && i != 4 * n + 100; ++i) {
        if (i % 8 < 4) co_await last_of_turn();
        while (l.may_complete_inline()) {
        }
        auto first = co_await when_any(make(), something_else(i));
        if (first.index == 0) came += count(std::get<0>(first.value));
    }
    co_return came;
}

/// Collects as `collect` does, also what is still on its way from another thread.
template <class Make, class Count>
task<std::size_t> collect_late(Make make, Count count, std::size_t n) {
    std::size_t came = 0;
    for (int i = 0; came < n && i != 1000; ++i) {
        co_await sleep_for(std::chrono::milliseconds(1));
        came += co_await collect(make, count, n - came);
    }
    co_return came;
}

inline constexpr auto one = [](const auto&) { return std::size_t{1}; };

}  // namespace coracle::testing
