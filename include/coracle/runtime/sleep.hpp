#pragma once

#include <coracle/runtime/operation.hpp>

namespace coracle {

/// The awaitable returned by `sleep_for` and `sleep_until`.
class [[nodiscard]] sleep_operation final : public detail::leaf<sleep_operation, void>,
                                            public detail::timer {
public:
    static constexpr const char* name = "sleep";
    sleep_operation(duration d, time_point until) noexcept : duration_(d), until_(until) {}

    bool start();
    void cancel() noexcept override;
    void expired() noexcept override { complete(); }
    std::expected<void, error> result() const noexcept { return {}; }

private:
    duration duration_;
    time_point until_;
};

/// Completes once `d` has passed on the clock of the loop, never early; at once when `d` is zero
/// or less. Resumes from the loop, in the order in which timers fall due. Cancelling it ends it.
inline sleep_operation sleep_for(duration d) noexcept {
    return {d, time_point::min()};
}

/// Completes at `t` on the clock of the loop (`loop::now`).
inline sleep_operation sleep_until(time_point t) noexcept {
    return {duration::zero(), t};
}

/// The awaitable returned by `yield`.
class [[nodiscard]] yield_operation final : public detail::leaf<yield_operation, void> {
public:
    static constexpr const char* name = "yield";
    bool start() noexcept {
        owner().enqueue_for_next_turn(*this);
        return false;
    }
    void cancel() noexcept override { mark_cancelled(); }
    std::expected<void, error> result() const noexcept { return {}; }
};

/// Lets the other tasks of the loop run; resumes in the next turn.
inline yield_operation yield() noexcept {
    return {};
}

/// The awaitable returned by `forever`.
class [[nodiscard]] forever_operation final : public detail::leaf<forever_operation, void> {
public:
    static constexpr const char* name = "forever";
    bool start() noexcept { return false; }
    void cancel() noexcept override {
        if (linked()) return;
        mark_cancelled();
        owner().enqueue(*this);
    }
    std::expected<void, error> result() const noexcept { return {}; }
};

/// Never completes; ends when it is cancelled.
inline forever_operation forever() noexcept {
    return {};
}

}  // namespace coracle
