#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/loop.hpp>

#include <chrono>

namespace coracle::http::detail {

/// Lets the receives of a fast body wait for a whole block instead of the first bytes (SO_RCVLOWAT,
/// socket(7)), since waking up for every few segments costs more than copying them. When the body
/// slows down, one receive takes a millisecond longer, and later ones wait for the first bytes
/// again.
class fast_body final : coracle::detail::timer {
public:
    explicit fast_body(net::byte_stream& from) noexcept : from_(&from) {}
    fast_body(const fast_body&) = delete;
    fast_body& operator=(const fast_body&) = delete;
    ~fast_body() { stop(); }

    /// Returns true while receives wait for more than one byte.
    bool is_on() const noexcept { return mark_ != 1; }
    /// To be called before a receive; at least `bytes` more are expected.
    void wait_for(std::size_t bytes) noexcept {
        if (!set(bytes)) return;
        from_->owner().arm(*this, coracle::detail::later(from_->owner().now(), patience));
    }
    /// To be called when that receive has completed.
    void came() noexcept { from_->owner().disarm(*this); }
    /// To be called at the end of the body.
    void stop() noexcept {
        came();
        set(1);
    }

private:
    static constexpr duration patience = std::chrono::milliseconds(1);

    void expired() noexcept override { set(1); }
    bool set(std::size_t bytes) noexcept {
        if (mark_ == bytes) return true;
        if (!from_->prefer_input(bytes)) return false;
        mark_ = bytes;
        return true;
    }

    net::byte_stream* from_;
    std::size_t mark_ = 1;
};

}  // namespace coracle::http::detail
