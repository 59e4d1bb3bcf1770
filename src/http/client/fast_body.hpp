#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/loop.hpp>

#include <chrono>

namespace coracle::http::detail {

/// Lets the receives of a body that comes fast wait for a block of bytes instead of the first ones
/// (SO_RCVLOWAT, socket(7)): waking for each few segments costs more than to copy them. For one
/// that stops coming so fast they wait a millisecond longer than they would, and then as others do.
class fast_body final : coracle::detail::timer {
public:
    explicit fast_body(net::byte_stream& from) noexcept : from_(&from) {}
    fast_body(const fast_body&) = delete;
    fast_body& operator=(const fast_body&) = delete;
    ~fast_body() { stop(); }

    /// Whether receives wait for more than one byte.
    bool is_on() const noexcept { return mark_ != 1; }
    /// For a receive that is about to begin: at least `bytes` more will come, if all goes well.
    void wait_for(std::size_t bytes) noexcept {
        if (!set(bytes)) return;
        from_->owner().arm(*this, coracle::detail::later(from_->owner().now(), patience));
    }
    /// That receive has completed.
    void came() noexcept { from_->owner().disarm(*this); }
    /// What follows is not of the body.
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
