#pragma once

#include <coracle/http/server.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace coracle::http::detail {

/// Measures the rate at which the body of a request arrives, while the server waits for it.
class receive_pace {
public:
    void waited(duration d) noexcept { waited_ += d; }
    /// Returns true if a client that has sent that many bytes is below the minimum rate.
    bool is_too_slow(std::uint64_t received, const server_timeouts& t) const noexcept {
        if (t.body_rate == 0 || waited_ <= t.body_grace) return false;
        const double wanted = std::chrono::duration<double>(waited_).count() * t.body_rate;
        return static_cast<double>(received) < wanted;
    }

private:
    duration waited_{};
};

/// Measures the rate at which a client accepts bytes, while the server waits for that.
class send_pace {
public:
    /// Several checks within the timeout of a write without progress, so that it ends in time.
    static constexpr std::uint8_t looks = 4;
    static duration between_looks(const server_timeouts& t) noexcept { return t.write / looks; }

    /// To be called when a write begins.
    void begin(time_point now) noexcept {
        seen_ = 0;
        stalls_ = 0;
        looked_ = now;
    }
    /// Records the progress of this write since the last check.
    void look(time_point now, std::int64_t gone) noexcept {
        waited_ += now - std::exchange(looked_, now);
        moved_ += gone - std::exchange(seen_, gone);
    }
    /// Ignores the time since the last check, which is not the client's fault.
    void excuse(time_point now, std::int64_t gone) noexcept {
        stalls_ = 0;
        looked_ = now;
        seen_ = gone;
    }
    /// Records progress if the interval has passed. Returns false if there was none.
    bool still_moves(time_point now, std::int64_t gone) noexcept {
        stalls_ = gone != seen_ ? 0 : static_cast<std::uint8_t>(stalls_ + 1);
        look(now, gone);
        return stalls_ < looks;
    }
    /// Decides at the end of each window: bytes that the kernel took at first do not count for a
    /// client that then stops.
    bool is_too_slow(const server_timeouts& t) noexcept {
        if (waited_ < t.write_window) return false;
        const duration waited = std::exchange(waited_, duration::zero());
        const auto moved = static_cast<double>(std::exchange(moved_, 0));
        return moved < std::chrono::duration<double>(waited).count() * t.write_rate;
    }

private:
    time_point looked_;
    duration waited_{};  ///< time of waiting for the client in this window
    std::int64_t moved_ = 0;
    std::int64_t seen_ = 0;
    std::uint8_t stalls_ = 0;
};

}  // namespace coracle::http::detail
