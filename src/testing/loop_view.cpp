#include "testing/loop_view.hpp"

#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

/// A bit of `descriptor::flags`: it stands in `ready_`, or in `batch_`.
constexpr std::uint32_t queued = 1;
constexpr std::uint32_t in_batch = 2;

bool is_input(opcode code) noexcept {
    return code == opcode::receive || code == opcode::accept || code == opcode::receive_from ||
           code == opcode::receive_many;
}

}  // namespace

loop_view::loop_view(std::shared_ptr<world> w) : world_(std::move(w)) {
    world_->views.push_back(this);
}

loop_view::~loop_view() {
    std::erase(world_->views, this);
}

std::int64_t loop_view::attempt(io_operation& op) {
    switch (op.code) {
        case opcode::accept: return world_->try_accept(static_cast<address_operation&>(op));
        case opcode::connect: return world_->try_connect(op.on->fd);
        case opcode::receive: return world_->try_receive(static_cast<receive_operation&>(op));
        case opcode::send: return world_->try_send_all(static_cast<send_operation&>(op));
        case opcode::send_file: return world_->try_send_file(static_cast<send_file_operation&>(op));
        case opcode::receive_from:
            return world_->try_receive_from(static_cast<datagram_operation&>(op));
        case opcode::send_to: return world_->try_send_to(static_cast<datagram_operation&>(op));
        case opcode::receive_many:
            return world_->try_receive_many(static_cast<messages_operation&>(op));
        case opcode::send_many: return world_->try_send_many(static_cast<messages_operation&>(op));
        default: return -ENOTSUP;
    }
}

bool loop_view::start(io_operation& op) {
    const int failure = world_->fault_of(op);
    if (op.code == opcode::readable || op.code == opcode::writable) {
        op.result = -ENOTSUP;
        return true;
    }
    if (op.code == opcode::file) return start_file(static_cast<file_operation&>(op), failure);
    if (failure != 0) {
        op.result = -failure;
        return true;
    }
    if (op.code == opcode::resolve) {
        return wait_for(world_->ask(static_cast<resolve_operation&>(op), *this));
    }
    if (!op.on->open()) {
        op.result = -EBADF;
        return true;
    }
    io_operation*& place = is_input(op.code) ? op.on->input : op.on->output;
    if (place != nullptr) {
        broken_contract("begins while another waits in its direction");
        op.result = -EBUSY;
        return true;
    }
    if (op.code == opcode::connect) {
        op.result = world_->begin_connect(static_cast<address_operation&>(op));
        if (op.result != -EAGAIN) return true;
    } else if (!world_->holds_back(op.on->fd)) {
        op.result = attempt(op);
        if (op.result != -EAGAIN) return true;
    }
    place = &op;
    return false;
}

bool loop_view::start_file(file_operation& op, int failure) {
    // Whatever close says, the number is gone.
    if (failure == 0 || op.action == file_action::close) {
        if (ref<pending> p = world_->begin(op, *this)) return wait_for(std::move(p));
    }
    if (failure != 0) op.result = -failure;
    return true;
}

bool loop_view::wait_for(ref<pending> p) {
    pending_.push_back(std::move(p));
    return false;
}

void loop_view::cancel(io_operation& op) {
    if (op.code == opcode::resolve || op.code == opcode::file) {
        const auto of_op = [&op](const ref<pending>& p) { return p->op == &op; };
        const auto found = std::find_if(pending_.begin(), pending_.end(), of_op);
        if (found == pending_.end()) return;
        if (op.code == opcode::file) {
            auto& t = static_cast<file_task&>(**found);
            // An operation that has happened is reported, even when it is cancelled.
            if (t.has_happened) return;
            t.release_files();
        }
        (*found)->op = nullptr;
        pending_.erase(found);
    } else if (op.on != nullptr && op.on->input == &op) {
        op.on->input = nullptr;
    } else if (op.on != nullptr && op.on->output == &op) {
        op.on->output = nullptr;
    } else {
        return;
    }
    op.result = -ECANCELED;
    loop::current()->complete_later(op);
}

void loop_view::complete(io_operation& op) noexcept {
    loop::current()->refill_inline_budget();
    op.completed(op);
}

void loop_view::retry(io_operation*& place) {
    if (world_->interrupted()) return world_->poke(place->on->fd);
    const std::int64_t result = attempt(*place);
    if (result == -EAGAIN) return;
    place->result = result;
    complete(*std::exchange(place, nullptr));
}

void loop_view::wait(time_point until) {
    if (woken.exchange(false, std::memory_order_acquire)) until = time_point::min();
    world_->count_turn();
    if (is_driven) {
        if (until <= world_->now()) world_->pass(until);
    } else if (until <= world_->now() || !world_->interrupted()) {
        if (!world_->pass(until)) {
            world_->stuck("deadlock: nothing is left that could happen, and the run has not ended");
        }
        world_->check_time();
    }
    dispatch();
    complete_resolved();
}

void loop_view::ready(descriptor& d) {
    if ((d.flags & queued) != 0) return;
    d.flags |= queued;
    ready_.push_back(&d);
}

void loop_view::ready(ref<pending> p) {
    resolved_.push_back(std::move(p));
}

void loop_view::forget(descriptor& d) {
    if ((d.flags & queued) != 0) std::erase(ready_, &d);
    if ((d.flags & in_batch) != 0) {
        std::replace(batch_.begin(), batch_.end(), &d, static_cast<descriptor*>(nullptr));
    }
    d.flags = 0;
}

void loop_view::dispatch() {
    if (ready_.empty()) return;
    batch_.swap(ready_);
    for (descriptor* d : batch_) d->flags = in_batch;
    for (std::size_t i = 0; i != batch_.size(); ++i) {
        if (world_->options.reorder && i + 1 != batch_.size()) {
            std::swap(batch_[i], batch_[i + world_->draw(batch_.size() - 1 - i)]);
        }
        dispatch(i);
        if (batch_[i] != nullptr) batch_[i]->flags &= ~in_batch;
    }
    batch_.clear();
}

void loop_view::dispatch(std::size_t index) {
    // Each completion may close the descriptor, which clears the place in the batch.
    descriptor* const d = batch_[index];
    if (d == nullptr) return;
    if (d->input != nullptr) retry(d->input);
    if (batch_[index] != d) return;
    if (d->output != nullptr) retry(d->output);
    if (batch_[index] != d || d->watch == nullptr) return;
    if (!world_->hung_up(d->fd, *d->watch)) return;
    hangup_watch& w = *std::exchange(d->watch, nullptr);
    w.gone(w);
}

void loop_view::complete_resolved() {
    std::vector<ref<pending>> now;
    now.swap(resolved_);
    for (const ref<pending>& p : now) {
        if (p->op == nullptr) continue;
        io_operation& op = *std::exchange(p->op, nullptr);
        std::erase(pending_, p);
        op.result = op.code == opcode::file
                        ? static_cast<file_task&>(*p).result
                        : world_->response_to(static_cast<resolve_operation&>(op));
        complete(op);
    }
}

}  // namespace coracle::testing::detail
