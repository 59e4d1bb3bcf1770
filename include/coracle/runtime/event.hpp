#pragma once

#include <coracle/runtime/operation.hpp>

namespace coracle {

class event;

/// The awaitable returned by `event::wait`.
class [[nodiscard]] event_wait final : public detail::leaf<event_wait, void> {
public:
    static constexpr const char* name = "event";
    explicit event_wait(event& e) noexcept : event_(&e) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<void, error> result() const noexcept { return {}; }

private:
    event* event_;
};

/// A flag that tasks of one loop set and wait for. It belongs to that loop, which is asserted; from
/// other threads use a `futex`, or `post` a call that sets it. No task may wait when it is
/// destroyed.
class event {
public:
    event() noexcept = default;
    bool is_set() const noexcept { return set_; }
    /// Lets all that wait go on in the next turn, and all that come later at once.
    void set() noexcept;
    void reset() noexcept { set_ = false; }

    /// Completes when the event is set. Resumes from the loop. Cancelling it ends it.
    event_wait wait() noexcept { return event_wait(*this); }

private:
    friend class event_wait;
    intrusive_list<detail::runnable> waiting_;
    loop* owner_ = nullptr;  ///< of those that have waited
    bool set_ = false;
};

}  // namespace coracle
