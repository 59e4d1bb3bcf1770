#pragma once

#include "http/h2/frame.hpp"
#include "http/h2/token_bucket.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

namespace coracle::http::h2 {

/// A flow-control window for received bytes (RFC 9113 section 5.2). It is reopened each time half
/// of it has been consumed. If that takes less than two round trips, the window slows the sender
/// down, so it doubles, up to a limit.
class receive_window {
public:
    receive_window(std::uint32_t size, std::uint32_t most) noexcept
        : left_{size}, size_{size}, most_{std::max(size, most)} {}

    /// Counts received bytes. Returns false when the peer has exceeded the window.
    [[nodiscard]] bool receive(std::uint32_t n) noexcept {
        left_ -= n;
        return left_ >= 0;
    }

    /// Counts consumed bytes. Returns the increment to send now, or 0.
    [[nodiscard]] std::uint32_t consume(std::uint32_t n, instant now, instant round_trip) noexcept {
        consumed_ += n;
        if (consumed_ < size_ / 2) return 0;
        std::uint32_t increment = consumed_;
        if (round_trip.count() > 0 && opened_.count() > 0 && now - opened_ < 2 * round_trip) {
            const std::uint32_t grown = std::min(most_, size_ > most_ / 2 ? most_ : size_ * 2);
            increment += grown - size_;
            size_ = grown;
        }
        opened_ = now;
        consumed_ = 0;
        left_ += increment;
        return increment;
    }

    /// Returns an increment to send although not half has been consumed, or 0. Unread bytes of some
    /// streams may hold so much of a connection's window that the others would come to a stop
    /// before they have consumed half of it.
    [[nodiscard]] std::uint32_t reopen_early() noexcept {
        if (left_ >= size_ / 4 || consumed_ < left_) return 0;
        left_ += consumed_;
        return std::exchange(consumed_, 0);
    }

    /// Enlarges the window to `size` at once and returns the increment to send.
    [[nodiscard]] std::uint32_t widen(std::uint32_t size) noexcept {
        if (size <= size_) return 0;
        const std::uint32_t increment = size - size_;
        size_ = size;
        most_ = std::max(most_, size);
        left_ += increment;
        return increment;
    }

    /// Shrinks the window after the peer has acknowledged an initial size that is smaller by so
    /// much (RFC 9113 section 6.9.2). Returns the increment to send now, or 0.
    [[nodiscard]] std::uint32_t narrow(std::uint32_t by) noexcept {
        if (by == 0) return 0;
        left_ -= by;
        size_ -= by;
        if (consumed_ < size_ / 2) return 0;
        left_ += consumed_;
        return std::exchange(consumed_, 0);
    }

    /// Takes bytes back that were received and that a peer which is gone needs not be told of.
    void forget(std::uint64_t n) noexcept { left_ += static_cast<std::int64_t>(n); }

    /// Returns true if all that was received is consumed, but for `unread` bytes.
    [[nodiscard]] bool adds_up(std::uint64_t unread) const noexcept {
        return left_ + consumed_ + static_cast<std::int64_t>(unread) == size_;
    }

    [[nodiscard]] std::int64_t left() const noexcept { return left_; }
    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

private:
    std::int64_t left_;
    std::uint32_t size_;
    std::uint32_t most_;
    std::uint32_t consumed_ = 0;  ///< consumed bytes that no increment covers yet
    instant opened_{0};           ///< time of the last increment
};

}  // namespace coracle::http::h2
