#pragma once

#include <coracle/runtime/operation.hpp>

#include <cstddef>
#include <cstdint>

namespace coracle {

class condition;

/// The awaitable returned by `condition::wait`.
class [[nodiscard]] condition_wait final : public detail::leaf<condition_wait, std::uint64_t> {
public:
    static constexpr const char* name = "condition";
    condition_wait(condition& c, std::uint64_t mask) noexcept : condition_(&c), mask_(mask) {}
    bool start() noexcept;
    void cancel() noexcept override;
    std::expected<std::uint64_t, error> result() const noexcept { return met_ & mask_; }

private:
    friend class condition;
    enum class state : std::uint8_t { waiting, notified_alone, notified_with_all, cancelled };

    condition* condition_;
    std::uint64_t mask_;
    std::uint64_t met_ = 0;
    state at_ = state::waiting;
};

/// A condition variable for tasks of one loop. Each task waits for any of a set of bits, and a
/// notification wakes the tasks that wait for one of its bits. Notifications are not remembered:
/// one without a waiter is lost, so check the state first, and again after the wait. No lock is
/// needed for that: nothing else runs between the check and the wait. No task may wait when it is
/// destroyed. Belongs to one loop.
class condition {
public:
    static constexpr std::uint64_t any = ~std::uint64_t{0};

    condition() noexcept = default;
    condition(const condition&) = delete;
    condition& operator=(const condition&) = delete;

    /// Completes at the next notification whose mask meets `mask`; gives the bits that met. Resumes
    /// from the loop. Cancelling it ends the wait; a `notify_one` that had already reached it goes
    /// to the next that it meets.
    condition_wait wait(std::uint64_t mask = any) noexcept { return {*this, mask}; }

    /// Lets the task that has waited longest of those that `mask` meets go on. False: none waits.
    bool notify_one(std::uint64_t mask = any) noexcept;
    /// Lets all that `mask` meets go on; gives their number.
    std::size_t notify_all(std::uint64_t mask = any) noexcept;

private:
    friend class condition_wait;
    intrusive_list<detail::runnable> waiting_;
};

}  // namespace coracle
