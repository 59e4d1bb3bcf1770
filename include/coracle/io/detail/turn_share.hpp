#pragma once

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>

#include <cstddef>
#include <cstdint>

namespace coracle::io::detail {

/// The number of bytes that a task which never waits may move before it lets others run: data in
/// memory, or in the page cache, would otherwise hold the loop until it is all read.
class turn_share {
public:
    /// Bytes in one turn of the loop: some 100 microseconds of copying.
    static constexpr std::size_t bytes = 512 * 1024;

    /// Returns true if the share of this turn is used up: then `yield`.
    bool used_up() noexcept {
        look_at_turn();
        return moved_ >= bytes;
    }
    void moved(std::size_t n) noexcept {
        look_at_turn();
        moved_ += n;
    }

private:
    void look_at_turn() noexcept {
        const std::uint64_t turn = loop::current()->turns();
        if (turn == turn_) return;
        turn_ = turn;
        moved_ = 0;
    }

    std::uint64_t turn_ = 0;
    std::size_t moved_ = 0;
};

}  // namespace coracle::io::detail
