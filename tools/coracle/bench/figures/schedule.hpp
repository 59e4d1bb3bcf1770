#pragma once

#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <optional>

namespace coracle::tool::bench {

/// The limits of what is sent.
struct schedule_limits {
    /// Requests a second; 0: the closed model, in which each connection sends its next request when
    /// it has the response.
    double rate = 0;
    time_point begin{};
    /// No request is begun from here on.
    time_point end = time_point::max();
    /// The most requests that are due after `counted_from`.
    std::uint64_t requests = ~std::uint64_t{0};
    time_point counted_from = time_point::min();
};

/// The points in time at which requests are due, on one loop. In the open model the n-th is due at
/// begin + n / rate, whatever became of those before it; a connection that is free takes the next
/// one, late or not, and the time that it was due at is where its latency begins. Holds no queue:
/// what is due and not taken is a number. What is still to be sent of the time before
/// `counted_from` is dropped then: it would keep what counts waiting. Reads no clock.
class schedule {
public:
    explicit schedule(const schedule_limits& l) noexcept : limits_(l) {}

    bool is_open() const noexcept { return limits_.rate > 0; }
    const schedule_limits& limits() const noexcept { return limits_; }
    time_point end() const noexcept { return limits_.end; }

    /// Takes the next request: the time at which it is due, in the closed model `now`. Nothing once
    /// the end has come, or all have been taken.
    std::optional<time_point> take(time_point now) noexcept {
        if (is_used_up() || now >= limits_.end) return {};
        time_point due = is_open() ? due_of(taken_) : now;
        if (due < limits_.counted_from && now >= limits_.counted_from) {
            taken_ = due_before(limits_.counted_from);
            due = due_of(taken_);
        }
        if (due >= limits_.end) {
            limits_.requests = counted_;
            return {};
        }
        ++taken_;
        if (due >= limits_.counted_from) ++counted_;
        return due;
    }

    std::uint64_t taken() const noexcept { return taken_; }
    /// Requests that count and are still to be taken.
    std::uint64_t left() const noexcept { return limits_.requests - counted_; }
    /// Returns true once all that count have been taken.
    bool is_used_up() const noexcept { return counted_ >= limits_.requests; }
    /// Requests of the open model that count, were due before `now`, and the end, and were not
    /// taken, since no connection was free: from `first_overdue` on.
    std::uint64_t overdue(time_point now) const noexcept;
    std::uint64_t first_overdue() const noexcept;
    /// The time at which the n-th is due, in the open model.
    time_point due_of(std::uint64_t n) const noexcept;

private:
    /// How many are due before `when`, in the open model.
    std::uint64_t due_before(time_point when) const noexcept;

    schedule_limits limits_;
    std::uint64_t taken_ = 0;
    std::uint64_t counted_ = 0;
};

}  // namespace coracle::tool::bench
