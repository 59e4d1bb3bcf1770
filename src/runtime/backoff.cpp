#include "runtime/backoff.hpp"

#include "runtime/century.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace coracle::detail {

duration next_delay(duration last, duration first, duration longest) noexcept {
    constexpr duration least = std::chrono::milliseconds(1);
    const duration most = std::clamp(longest, least, century);
    const duration wanted = last == duration::zero() ? first : std::min(last, most) * 2;
    return std::clamp(wanted, least, most);
}

duration shortened_by_chance(duration delay) noexcept {
    if (delay.count() < 2) return delay;
    const auto half = static_cast<std::uint64_t>(delay.count() / 2);
    return delay - duration(static_cast<duration::rep>(loop::current()->random() % half));
}

}  // namespace coracle::detail
