#pragma once

#include <coracle/runtime/clock.hpp>

#include <memory>

namespace coracle::detail {

/// A flag that plain threads block on. It may be destroyed as soon as a wait has seen it set.
class thread_event {
public:
    thread_event();
    ~thread_event();
    thread_event(const thread_event&) = delete;
    thread_event& operator=(const thread_event&) = delete;

    void set() noexcept;
    bool is_set() const noexcept;
    void wait() noexcept;
    /// False when `limit` has passed first. A span without an end is none.
    bool wait_for(duration limit) noexcept;

private:
    struct state;
    std::unique_ptr<state> state_;
};

}  // namespace coracle::detail
