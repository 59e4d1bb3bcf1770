#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace coracle::http::h2 {

/// Time since any fixed moment, supplied by the owner of a clock.
using instant = std::chrono::nanoseconds;

/// A token bucket: `capacity` permits at first and at most, `per_second` more each second.
class token_bucket {
public:
    token_bucket(std::uint32_t capacity, double per_second) noexcept
        : capacity_(static_cast<double>(capacity)), per_second_(per_second), left_(capacity_) {}

    /// Takes one permit. Returns false when there is none.
    [[nodiscard]] bool take(instant now) noexcept {
        if (now > last_) {
            const double seconds = std::chrono::duration<double>(now - last_).count();
            left_ = std::min(capacity_, left_ + seconds * per_second_);
            last_ = now;
        }
        if (left_ < 1) return false;
        left_ -= 1;
        return true;
    }

private:
    double capacity_;
    double per_second_;
    double left_;
    instant last_{0};
};

}  // namespace coracle::http::h2
