#pragma once

#include <coracle/runtime/event.hpp>

#include <cassert>
#include <cstddef>

namespace coracle {

/// A counter that goes down to zero once; tasks of one loop wait for zero. No task may wait when it
/// is destroyed.
class latch {
public:
    explicit latch(std::size_t count) noexcept : left_(count) {
        if (count == 0) zero_.set();
    }

    /// Counts `n` down, which must not be more than what is left.
    void count_down(std::size_t n = 1) noexcept {
        assert(n <= left_);
        left_ -= n;
        if (left_ == 0) zero_.set();
    }
    std::size_t left() const noexcept { return left_; }
    bool is_zero() const noexcept { return left_ == 0; }

    /// Completes when the count is zero. Resumes from the loop. Cancelling it ends the wait, and
    /// leaves the count as it is.
    event_wait wait() noexcept { return zero_.wait(); }
    /// Counts `n` down, in the call itself, and waits.
    event_wait arrive_and_wait(std::size_t n = 1) noexcept {
        count_down(n);
        return wait();
    }

private:
    event zero_;
    std::size_t left_;
};

}  // namespace coracle
