#pragma once

#include <coracle/net/byte_stream.hpp>

#include <memory>

namespace coracle::connect {

/// A stream that begins with bytes which were read from it already, and that keeps alive what the
/// stream beneath needs.
class tunnel_stream final : public net::byte_stream {
public:
    tunnel_stream(std::unique_ptr<net::byte_stream> beneath, buffer received,
                  std::shared_ptr<void> needed) noexcept
        : needed_(std::move(needed)), beneath_(std::move(beneath)), received_(std::move(received)) {
    }

    void shutdown_output() noexcept override { beneath_->shutdown_output(); }
    void close(bool reset = false) noexcept override { beneath_->close(reset); }
    std::int64_t try_send(std::string_view bytes) noexcept override {
        return beneath_->try_send(bytes);
    }
    bool has_input() noexcept override { return !received_.empty() || beneath_->has_input(); }
    bool watch_hangup(hangup_watch* w) noexcept override { return beneath_->watch_hangup(w); }
    const net::address& peer() const noexcept override { return beneath_->peer(); }
    loop& owner() const noexcept override { return beneath_->owner(); }
    bool start(io_operation& op) noexcept override {
        if (op.code == opcode::receive && !received_.empty()) {
            give(static_cast<receive_operation&>(op));
            return true;
        }
        return beneath_->start(op);
    }
    void cancel(io_operation& op) noexcept override { beneath_->cancel(op); }
    std::error_code code_of(std::int64_t result) const noexcept override {
        return beneath_->code_of(result);
    }

private:
    void give(receive_operation& op) noexcept;

    std::shared_ptr<void> needed_;
    std::unique_ptr<net::byte_stream> beneath_;
    buffer received_;
};

}  // namespace coracle::connect
