#include <coracle/runtime/loop.hpp>

#include <utility>

namespace coracle {

struct loop::posted {
    posted* next;
    unique_function<void()> f;
};

loop::loop(std::unique_ptr<coracle::backend> b, const logger& log, unsigned index)
    : backend_(std::move(b)), log_(log), now_(backend_->now()), deadlines_(now_),
      root_(*this, nullptr), index_(index), trimmed_(now_) {
    root_.name = "root";
}

loop::~loop() {
    drop_posted();
}

void loop::drop_posted() {
    posted* p = posted_.exchange(nullptr, std::memory_order_acquire);
    while (p != nullptr) delete std::exchange(p, p->next);
}

void loop::reset() {
    drop_posted();
    root_.revive();
}

void loop::enter() {
    outer_loop_ = std::exchange(detail::current_loop, this);
    outer_pool_ = std::exchange(detail::current_pool, &pool_);
}

void loop::leave() {
    detail::current_loop = outer_loop_;
    detail::current_pool = outer_pool_;
}

void loop::read_wall_clock() noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t wall = backend_->wall_clock();
    unix_time_ = wall / second;
    // The next second begins in the rest of this one.
    next_second_ = now_ + duration(second - wall % second);
}

void loop::post(unique_function<void()> f) {
    posted* head = posted_.load(std::memory_order_relaxed);
    auto* p = new posted{head, std::move(f)};
    // Release: what the poster wrote before is seen by the loop that takes the list. From then on
    // `p` belongs to the loop and may be gone.
    while (!posted_.compare_exchange_weak(head, p, std::memory_order_release,
                                          std::memory_order_relaxed)) {
        p->next = head;
    }
    // Only the poster that finds the list empty wakes: the loop takes the whole list at once.
    if (head == nullptr) backend_->wake();
}

void loop::stop() {
    post([this] { root_.cancel(); });
}

void loop::run_posted() noexcept {
    if (posted_.load(std::memory_order_relaxed) == nullptr) return;
    posted* newest = posted_.exchange(nullptr, std::memory_order_acquire);
    posted* oldest = nullptr;
    while (newest != nullptr) {
        posted* next = std::exchange(newest->next, oldest);
        oldest = std::exchange(newest, next);
    }
    while (oldest != nullptr) {
        std::unique_ptr<posted> p(std::exchange(oldest, oldest->next));
        refill_inline_budget();
        p->f();
    }
}

void loop::run_ready() noexcept {
    if (ready_.empty() && completed_.empty()) return;
    intrusive_list<detail::runnable> batch;
    batch.splice(ready_);
    while (detail::runnable* r = batch.pop_front()) {
        refill_inline_budget();
        r->run();
    }
    intrusive_list<io_operation> done;
    done.splice(completed_);
    while (io_operation* op = done.pop_front()) {
        refill_inline_budget();
        op->completed(*op);
    }
}

time_point loop::next_wake(bool busy) const noexcept {
    if (busy) return time_point::min();
    const time_point wheel = deadlines_.next();
    if (timers_.empty()) return wheel;
    return timers_.next() < wheel ? timers_.next() : wheel;
}

void loop::turn() {
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    run_posted();
    run_ready();
    if (over()) return;
    const bool busy = !ready_.empty() || !completed_.empty();
    refill_inline_budget();
    backend_->wait(next_wake(busy));
    now_ = backend_->now();
    if (!timers_.empty()) timers_.fire(now_);
    if (deadlines_.next() <= now_) deadlines_.advance(now_);
    trim_when_idle();
}

void loop::trim_when_idle() noexcept {
    // Blocks that a burst left behind go back to the system, half of them every ten seconds.
    if (now_ - trimmed_ < std::chrono::seconds(10)) return;
    trimmed_ = now_;
    pool_.trim();
}

void loop::run_until(const bool& done) {
    enter();
    now_ = backend_->now();
    done_ = &done;
    while (!over()) turn();
    done_ = nullptr;
    root_.cancel();
    while (!over()) turn();
    leave();
}

bool loop::over() const noexcept {
    return done_ != nullptr ? *done_ : detached_ == 0;
}

}  // namespace coracle
