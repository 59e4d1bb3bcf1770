#include "io/descriptor_direction.hpp"

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

/// False when it has to wait for the backend.
bool descriptor_stream::direction::submit_until_done() noexcept {
    while (stream_.owner_->backend().submit(*this)) {
        if (go_on()) return true;
    }
    return false;
}

/// The backend has told of something; true when that ends what waits.
bool descriptor_stream::direction::go_on() noexcept {
    if (result < 0) {
        waiting_->result = result;
        return true;
    }
    if (result > 0) stream_.hung_up_ = true;
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

bool descriptor_stream::direction::run_on_pool(io_operation& op) noexcept {
    // Blocks of memory belong to the loop, and are taken here.
    if (op.code == opcode::receive) {
        auto& receive = static_cast<receive_operation&>(op);
        borrowed_ = !receive.into;
        if (borrowed_) receive.into = buffer(receive.capacity);
    }
    waiting_ = &op;
    pool_ = stream_.owner_->offload_pool();
    if (pool_ != nullptr && pool_->submit(*this)) return false;
    pool_ = nullptr;
    stream_.attempt(op);
    waiting_ = nullptr;
    return true;
}

void descriptor_stream::direction::execute() noexcept {
    stream_.attempt(*waiting_);
    stream_.owner_->post(static_cast<coracle::detail::remote_runnable&>(*this));
}

void descriptor_stream::direction::arrived() noexcept {
    pool_ = nullptr;
    if (waiting_->code == opcode::receive && waiting_->result <= 0 && borrowed_) {
        static_cast<receive_operation&>(*waiting_).into.release();
    }
    complete();
}

void descriptor_stream::direction::cancel(io_operation& op) noexcept {
    // One that has completed already comes in its turn.
    if (waiting_ != &op) return;
    if (pool_ == nullptr) {
        stream_.owner_->backend().cancel(*this);
    } else if (pool_->withdraw(*this)) {
        pool_ = nullptr;
        waiting_ = nullptr;
        op.result = -ECANCELED;
        stream_.owner_->complete_later(op);
    }
}

}  // namespace coracle::io
