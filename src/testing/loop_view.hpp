#pragma once

#include "testing/world.hpp"

#include <atomic>
#include <memory>
#include <vector>

namespace coracle::testing::detail {

/// The world as one loop sees it: what waits on its descriptors, and what has become ready.
class loop_view {
public:
    explicit loop_view(std::shared_ptr<world> w);
    ~loop_view();
    loop_view(const loop_view&) = delete;
    loop_view& operator=(const loop_view&) = delete;

    bool start(io_operation& op);
    void cancel(io_operation& op);
    void wait(time_point until);
    /// Something has happened to this descriptor.
    void ready(descriptor& d);
    void ready(ref<pending> p);
    void forget(descriptor& d);
    void broken_contract(const char* what) { world_->fail(std::string("an operation ") + what); }

    world& shared() noexcept { return *world_; }

    /// Several loops: whether this one has something to do.
    bool has_work() const noexcept {
        return woken.load(std::memory_order_acquire) || !ready_.empty() || !resolved_.empty() ||
               due <= world_->now();
    }

    std::atomic<bool> woken{false};
    /// Several loops: when this one wants its next turn.
    time_point due = time_point::max();
    /// Several loops take turns, and time passes between these.
    bool is_driven = false;

private:
    std::int64_t attempt(io_operation& op);
    bool start_file(file_operation& op, int failure);
    bool wait_for(ref<pending> p);
    void complete(io_operation& op) noexcept;
    void retry(io_operation*& place);
    void dispatch();
    void dispatch(std::size_t index);
    void complete_resolved();

    std::shared_ptr<world> world_;
    std::vector<descriptor*> ready_;
    std::vector<descriptor*> batch_;  ///< the ready ones that are looked at now
    std::vector<ref<pending>> pending_;
    std::vector<ref<pending>> resolved_;
};

}  // namespace coracle::testing::detail
