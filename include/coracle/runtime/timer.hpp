#pragma once

#include <coracle/base/detail/intrusive_list.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace coracle {

class loop;

namespace detail {

class timer;

/// The position of a timer in its heap.
struct timer_position {
    static constexpr std::uint32_t unarmed = ~std::uint32_t{0};
    /// The index of a timer in the list beside the heap, which could not grow.
    static constexpr std::uint32_t listed = unarmed - 1;
    std::uint32_t at = unarmed;

    // In that list.
    timer* next_listed = nullptr;
    time_point due_listed{};
    std::uint64_t sequence_listed = 0;
};

/// A timer that fires in exact order. Derive and override; arming allocates only when the heap
/// grows, and succeeds without memory too.
class timer : public timer_position {
public:
    timer() noexcept = default;
    timer(timer&&) noexcept = default;  ///< while it is not armed
    timer& operator=(timer&&) = delete;
    virtual void expired() noexcept = 0;

protected:
    ~timer() = default;
};

/// Exact timers: a 4-ary heap ordered by time, then by the order of arming. What is armed while the
/// heap has no memory to grow stands in a sorted list beside it: arming never fails.
class timer_heap {
public:
    void arm(timer& t, time_point due) noexcept;
    /// Harmless when `t` is not armed.
    void disarm(timer& t) noexcept;
    bool empty() const noexcept { return size_ == 0; }
    /// The first time something is due; only when not empty.
    time_point next() const noexcept { return first().due; }
    /// Fires all that is due at `now` and was armed before the call.
    void fire(time_point now) noexcept;
    std::size_t size() const noexcept { return size_; }

private:
    struct entry {
        time_point due;
        std::uint64_t sequence;
        timer* owner;
        bool before(const entry& other) const noexcept {
            return due != other.due ? due < other.due : sequence < other.sequence;
        }
    };

    static entry entry_of(timer& listed) noexcept {
        return {listed.due_listed, listed.sequence_listed, &listed};
    }
    entry first() const noexcept;
    bool make_place() noexcept;
    void list(const entry& e) noexcept;
    void unlist(timer& t) noexcept;
    void place(std::size_t at, const entry& e) noexcept;
    void sift_up(std::size_t at, const entry& e) noexcept;
    void sift_down(std::size_t at, const entry& e) noexcept;
    void remove(std::size_t at) noexcept;

    std::vector<entry> entries_;
    timer* listed_ = nullptr;  ///< the first of the list
    std::size_t size_ = 0;
    std::uint64_t sequence_ = 0;
};

/// The position of a deadline in its wheel.
struct wheel_entry : list_hook {
    time_point due = time_point::max();
    /// The time at which the wheel next looks at it; max when it does not stand in the wheel.
    time_point visited = time_point::max();
};

}  // namespace detail

/// A deadline of something long-lived, such as a connection: moved many times, reached almost
/// never. Fires up to 1/16 s late. Moving it later, or disarming it, is one store: the wheel
/// notices when it comes by. Allocates nothing. Belongs to one loop.
class deadline : public detail::wheel_entry {
public:
    explicit deadline(loop& owner) noexcept : owner_(&owner) {}
    deadline(const deadline&) = delete;
    deadline& operator=(const deadline&) = delete;

    void arm(time_point due) noexcept {
        wheel_entry::due = due;
        if (due < visited) enter_wheel();
    }
    void arm_in(duration d) noexcept;
    void disarm() noexcept { wheel_entry::due = time_point::max(); }
    bool armed() const noexcept { return wheel_entry::due != time_point::max(); }
    time_point due() const noexcept { return wheel_entry::due; }

    /// Called from the loop once the deadline has passed; it is then disarmed.
    virtual void expired() noexcept = 0;

protected:
    ~deadline() = default;

private:
    void enter_wheel() noexcept;

    loop* owner_;
};

namespace detail {

/// The deadlines of a loop: a hierarchical timing wheel (four levels of 64 slots of 1/16 s).
class deadline_wheel {
public:
    static constexpr std::int64_t tick = 1'000'000'000 / 16;

    explicit deadline_wheel(time_point start) noexcept : ticks_(ticks_of(start)) {}
    /// Places `d`, a part of a deadline, so that it is visited when it is due.
    void insert(wheel_entry& d) noexcept;
    /// Fires what is due and moves on what was postponed.
    void advance(time_point now) noexcept;
    /// A time at which `advance` should be called; max when nothing stands in the wheel.
    time_point next() const noexcept { return next_; }

private:
    static constexpr unsigned levels = 4;
    static constexpr unsigned slot_bits = 6;
    static constexpr std::int64_t slots = 1 << slot_bits;

    static std::int64_t ticks_of(time_point t) noexcept {
        return t.time_since_epoch().count() / tick;
    }
    static std::int64_t ticks_up(time_point t) noexcept {
        const std::int64_t count = t.time_since_epoch().count();
        return count / tick + (count % tick > 0 ? 1 : 0);
    }
    time_point find_next() const noexcept;
    void visit(intrusive_list<wheel_entry>& slot, time_point now) noexcept;

    intrusive_list<wheel_entry> wheel_[levels][slots];
    std::uint64_t occupied_[levels] = {};
    std::int64_t ticks_;
    time_point next_ = time_point::max();
};

}  // namespace detail
}  // namespace coracle
