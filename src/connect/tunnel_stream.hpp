#pragma once

#include <coracle/net/byte_stream.hpp>

#include <memory>

namespace coracle::connect {

/// A stream that first returns bytes that were received already, and that keeps alive the objects
/// that the stream below needs.
class tunnel_stream final : public net::byte_stream {
public:
    tunnel_stream(std::unique_ptr<net::byte_stream> beneath, buffer received,
                  std::shared_ptr<void> needed) noexcept
        : needed_(std::move(needed)), below_(std::move(beneath)), received_(std::move(received)) {}

    void shutdown_output() noexcept override { below_->shutdown_output(); }
    void close(bool reset = false) noexcept override { below_->close(reset); }
    std::int64_t try_send(std::string_view bytes) noexcept override {
        return below_->try_send(bytes);
    }
    bool has_input() noexcept override { return !received_.empty() || below_->has_input(); }
    bool watch_hangup(hangup_watch* w) noexcept override { return below_->watch_hangup(w); }
    bool can_splice() const noexcept override { return below_->can_splice(); }
    const net::address& peer() const noexcept override { return below_->peer(); }
    loop& owner() const noexcept override { return below_->owner(); }
    bool start(io_operation& op) noexcept override {
        if (op.code == opcode::receive && !received_.empty()) {
            give(static_cast<receive_operation&>(op));
            return true;
        }
        if (op.code == opcode::splice_in && !received_.empty()) {
            op.result = 0;
            return true;
        }
        return below_->start(op);
    }
    void cancel(io_operation& op) noexcept override { below_->cancel(op); }
    std::error_code code_of(std::int64_t result) const noexcept override {
        return below_->code_of(result);
    }

private:
    void give(receive_operation& op) noexcept;

    std::shared_ptr<void> needed_;
    std::unique_ptr<net::byte_stream> below_;
    buffer received_;
};

}  // namespace coracle::connect
