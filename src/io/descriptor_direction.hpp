#pragma once

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/thread_pool.hpp>

namespace coracle::io {

/// One direction of a stream, and its operation that waits for the descriptor or for a thread of
/// the pool.
class descriptor_stream::direction final : io_operation,
                                           coracle::detail::pool_job,
                                           coracle::detail::remote_runnable {
public:
    direction(descriptor_stream& s, opcode readiness) noexcept
        : io_operation(readiness, &is_ready), stream_(s) {}

    bool is_busy() const noexcept { return waiting_ != nullptr; }
    /// Waits after an attempt that would have blocked. Returns true when `op` has completed after
    /// all.
    bool wait_for(io_operation& op) noexcept;
    bool run_on_pool(io_operation& op) noexcept;
    void cancel(io_operation& op) noexcept;

private:
    static void is_ready(io_operation& op) noexcept;
    bool submit_until_done() noexcept;
    std::int64_t give(receive_operation& op) noexcept;
    bool go_on() noexcept;
    void work() noexcept;
    void settle() noexcept;
    void execute() noexcept override;
    void wake() noexcept override {}
    void arrived() noexcept override;
    // A loop ends after its tasks, so it never drops one that waits.
    void dropped() noexcept override {}
    void complete() noexcept;

    descriptor_stream& stream_;
    io_operation* waiting_ = nullptr;
    thread_pool* pool_ = nullptr;  ///< the way in which `waiting_` is made
    /// A read on the pool has its own block, so that bytes which arrive after a cancellation are
    /// kept for the next read.
    receive_operation reading_{nullptr};
    bool unwanted_ = false;
};

}  // namespace coracle::io
