#include "schedule.hpp"

#include <algorithm>
#include <cmath>

namespace coracle::tool::bench {

time_point schedule::due_of(std::uint64_t n) const noexcept {
    // In parts, so that a week at a million a second has no rounding that can be seen.
    const double seconds = static_cast<double>(n) / limits_.rate;
    const double whole = std::floor(seconds);
    const auto rest = static_cast<std::int64_t>((seconds - whole) * 1e9);
    return limits_.begin + std::chrono::seconds(static_cast<std::int64_t>(whole)) + duration(rest);
}

std::uint64_t schedule::due_before(time_point when) const noexcept {
    const double seconds = std::chrono::duration<double>(when - limits_.begin).count();
    return static_cast<std::uint64_t>(std::ceil(seconds * limits_.rate));
}

std::uint64_t schedule::overdue(time_point now) const noexcept {
    const time_point until = std::min(now, limits_.end);
    if (!is_open() || until <= limits_.begin) return 0;
    const std::uint64_t due = due_before(until);
    const std::uint64_t first = first_overdue();
    return std::min(due > first ? due - first : 0, limits_.requests - counted_);
}

std::uint64_t schedule::first_overdue() const noexcept {
    if (limits_.counted_from <= limits_.begin) return taken_;
    return std::max(taken_, due_before(limits_.counted_from));
}

}  // namespace coracle::tool::bench
