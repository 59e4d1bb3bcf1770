#pragma once

#include <coracle/net/byte_stream.hpp>

#include <memory>
#include <string_view>
#include <utility>

namespace coracle::testing {

/// A stream that does what the one beneath it does, but for what a test makes otherwise.
class stream_over : public net::byte_stream {
public:
    explicit stream_over(std::unique_ptr<net::byte_stream> beneath) noexcept
        : beneath_(std::move(beneath)) {}

    void shutdown_output() noexcept override { beneath_->shutdown_output(); }
    void close(bool reset = false) noexcept override { beneath_->close(reset); }
    std::int64_t try_send(std::string_view bytes) noexcept override {
        return beneath_->try_send(bytes);
    }
    bool has_input() noexcept override { return beneath_->has_input(); }
    bool watch_hangup(hangup_watch* w) noexcept override { return beneath_->watch_hangup(w); }
    const net::address& peer() const noexcept override { return beneath_->peer(); }
    loop& owner() const noexcept override { return beneath_->owner(); }
    bool start(io_operation& op) noexcept override { return beneath_->start(op); }
    void cancel(io_operation& op) noexcept override { beneath_->cancel(op); }

private:
    std::unique_ptr<net::byte_stream> beneath_;
};

}  // namespace coracle::testing
