#include "io/descriptor_direction.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::io {

bool descriptor_stream::direction::wait_for(io_operation& op) noexcept {
    waiting_ = &op;
    on = &stream_.descriptor_;
    if (!submit_until_done()) return false;
    waiting_ = nullptr;
    return true;
}

/// Returns false if it has to wait for the backend.
bool descriptor_stream::direction::submit_until_done() noexcept {
    while (stream_.owner_->backend().submit(*this)) {
        if (go_on()) return true;
    }
    return false;
}

/// Handles a notification of the backend. Returns true if it ends the wait.
bool descriptor_stream::direction::go_on() noexcept {
    if (result < 0) {
        waiting_->result = result;
        return true;
    }
    if (result > 0) stream_.hung_up_ = true;
    if (is_input(*waiting_)) stream_.drained_ = false;
    return stream_.attempt(*waiting_);
}

void descriptor_stream::direction::is_ready(io_operation& op) noexcept {
    auto& self = static_cast<direction&>(op);
    if (self.go_on() || self.submit_until_done()) self.complete();
}

void descriptor_stream::direction::complete() noexcept {
    io_operation& done = *std::exchange(waiting_, nullptr);
    done.completed(done);
}

/// Passes the read bytes to the reader, as far as they fit.
std::int64_t descriptor_stream::direction::give(receive_operation& op) noexcept {
    buffer& read = reading_.into;
    const auto all = static_cast<std::int64_t>(read.size());
    if (!op.into && op.capacity >= read.size()) {
        op.into = std::exchange(read, {});
        return all;
    }
    if (!op.into && !op.into.try_obtain(op.capacity)) return -ENOMEM;
    const std::size_t n = std::min(op.into.spare_size(), read.size());
    op.into.append(read.view().substr(0, n));
    read.consume(n);
    return static_cast<std::int64_t>(n);
}

bool descriptor_stream::direction::run_on_pool(io_operation& op) noexcept {
    if (op.code == opcode::receive) {
        auto& receive = static_cast<receive_operation&>(op);
        if (!reading_.into.empty()) {
            op.result = give(receive);
            return true;
        }
        // Blocks of memory belong to the loop, so they are allocated here.
        reading_.into.release();
        const auto size = receive.into ? receive.into.spare_size() : receive.capacity;
        if (!reading_.into.try_obtain(size)) {
            op.result = -ENOMEM;
            return true;
        }
    }
    waiting_ = &op;
    unwanted_ = false;
    pool_ = stream_.owner_->offload_pool();
    if (pool_ != nullptr && pool_->submit(*this)) return false;
    pool_ = nullptr;
    work();
    settle();
    waiting_ = nullptr;
    return true;
}

void descriptor_stream::direction::work() noexcept {
    stream_.attempt(waiting_->code == opcode::receive ? reading_ : *waiting_);
}

void descriptor_stream::direction::execute() noexcept {
    work();
    stream_.owner_->post(static_cast<coracle::detail::remote_runnable&>(*this));
}

void descriptor_stream::direction::settle() noexcept {
    if (waiting_->code != opcode::receive) return;
    waiting_->result = reading_.result;
    if (reading_.result <= 0) {
        reading_.into.release();
    } else if (unwanted_) {
        waiting_->result = -ECANCELED;
    } else {
        waiting_->result = give(static_cast<receive_operation&>(*waiting_));
    }
}

void descriptor_stream::direction::arrived() noexcept {
    pool_ = nullptr;
    settle();
    complete();
}

void descriptor_stream::direction::cancel(io_operation& op) noexcept {
    // An operation that has completed already resumes later.
    if (waiting_ != &op) return;
    if (pool_ == nullptr) {
        stream_.owner_->backend().cancel(*this);
    } else if (pool_->withdraw(*this)) {
        pool_ = nullptr;
        waiting_ = nullptr;
        op.result = -ECANCELED;
        stream_.owner_->complete_later(op);
    } else {
        unwanted_ = true;
    }
}

}  // namespace coracle::io
