#include <coracle/runtime/detail/stack_depth.hpp>
#include <coracle/runtime/loop.hpp>

#include <algorithm>
#include <thread>
#include <utility>

namespace coracle {
namespace {

/// Runs all that is in `from` now.
template <class T, class F>
std::uint64_t run_all(intrusive_list<T>& from, F run) {
    intrusive_list<T> batch;
    batch.splice(from);
    std::uint64_t ran = 0;
    for (; T* const item = batch.pop_front(); ++ran) run(*item);
    return ran;
}

}  // namespace

void detail::throw_no_loop(const char* operation) {
    throw_exception(error(errc::no_loop, operation));
}

struct loop::posted_function final : detail::remote_runnable {
    explicit posted_function(unique_function<void()> work) noexcept : f(std::move(work)) {}
    void arrived() noexcept override {
        f();
        delete this;
    }
    void dropped() noexcept override { delete this; }
    unique_function<void()> f;
};

/// Marks the list of a loop that has ended; never dereferenced.
detail::remote_runnable* loop::closed() const noexcept {
    return reinterpret_cast<detail::remote_runnable*>(const_cast<loop*>(this));
}

loop::loop(std::unique_ptr<coracle::backend> b, const logger& log, unsigned index)
    : backend_(std::move(b)), log_(log), now_(backend_->now()), deadlines_(now_),
      root_(*this, nullptr), index_(index), born_(now_), trimmed_(now_) {
    root_.name = "root";
    backend_->tell_time_in(now_);
}

loop::~loop() {
    // The runnable that a poster posted may have ended the loop before the poster has woken the
    // backend.
    while (posting_.load(std::memory_order_acquire) != 0) std::this_thread::yield();
    drop_posted();
}

void loop::drop(detail::remote_runnable* first) noexcept {
    while (first != nullptr) std::exchange(first, first->next)->dropped();
}

void loop::drop_posted() noexcept {
    detail::remote_runnable* p = posted_.exchange(nullptr, std::memory_order_acquire);
    if (p != closed()) drop(p);
}

void loop::close_posted() noexcept {
    // No turn would run later posts, so they are refused, which notifies their waiters.
    drop(posted_.exchange(closed(), std::memory_order_acq_rel));
}

void loop::end_residents() noexcept {
    while (resident* r = residents_.pop_front()) r->loop_ended();
}

void loop::end_turns() noexcept {
    enter();
    end_residents();
    close_posted();
    leave();
}

bool loop::has_ended() const noexcept {
    return posted_.load(std::memory_order_relaxed) == closed();
}

void loop::reset() noexcept {
    if (!has_ended()) return;
    root_.revive();
    stops_services_ = false;
    posted_.store(nullptr, std::memory_order_relaxed);
}

void loop::enter() {
    outer_loop_ = std::exchange(detail::current_loop, this);
    outer_pool_ = std::exchange(detail::current_pool, &pool_);
    outer_floor_ =
        std::exchange(detail::stack_floor, detail::stack_position() - detail::deepest_stack);
    backend_->enters_thread();
}

void loop::leave() {
    backend_->leaves_thread();
    detail::current_loop = outer_loop_;
    detail::current_pool = outer_pool_;
    detail::stack_floor = outer_floor_;
}

void loop::read_wall_clock() noexcept {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t wall = backend_->wall_clock();
    unix_time_ = wall / second;
    // The next second begins in the rest of this one.
    next_second_ = now_ + duration(second - wall % second);
}

bool loop::post(unique_function<void()> f) {
    auto p = std::make_unique<posted_function>(std::move(f));
    if (!post(*p)) return false;
    static_cast<void>(p.release());
    return true;
}

bool loop::post(detail::remote_runnable& r) noexcept {
    posting_.fetch_add(1, std::memory_order_relaxed);
    detail::remote_runnable* head = posted_.load(std::memory_order_relaxed);
    // Release: the loop that takes the list sees the earlier writes of the poster. From then on `r`
    // belongs to the loop and may be destroyed.
    do {
        if (head == closed()) break;
        r.next = head;
    } while (!posted_.compare_exchange_weak(head, &r, std::memory_order_release,
                                            std::memory_order_relaxed));
    // Only the poster that finds the list empty wakes: the loop takes the whole list at once.
    if (head == nullptr) backend_->wake();
    const bool accepted = head != closed();
    // The last access: from here on the loop may be destroyed.
    posting_.fetch_sub(1, std::memory_order_release);
    return accepted;
}

loop_statistics loop::statistics() const noexcept {
    const backend_counters& c = backend_->counters();
    return {.turns = turns_,
            .tasks = tasks_,
            .ready = ran_in_turn_.load(std::memory_order_relaxed),
            .waits = c.waits,
            .events = c.events,
            .system_calls = c.system_calls,
            .processor_time = backend_->processor_time(),
            .age = backend_->now() - born_};
}

void loop::stop_message::arrived() noexcept {
    // Release: the thread that stops next links the message anew.
    under_way.store(false, std::memory_order_release);
    owner->root_.cancel();
}

void loop::stop() noexcept {
    if (stop_.under_way.exchange(true, std::memory_order_acquire)) return;
    if (!post(stop_)) stop_.under_way.store(false, std::memory_order_release);
}

std::uint64_t loop::run_posted() noexcept {
    if (posted_.load(std::memory_order_relaxed) == nullptr) return 0;
    detail::remote_runnable* newest = posted_.exchange(nullptr, std::memory_order_acquire);
    detail::remote_runnable* oldest = nullptr;
    while (newest != nullptr) {
        detail::remote_runnable* older = std::exchange(newest->next, oldest);
        oldest = std::exchange(newest, older);
    }
    std::uint64_t ran = 0;
    for (; oldest != nullptr; ++ran) {
        detail::remote_runnable* r = std::exchange(oldest, oldest->next);
        refill_inline_budget();
        r->arrived();
    }
    return ran;
}

std::uint64_t loop::run_ready() noexcept {
    if (ready_.empty() && completed_.empty()) return 0;
    const std::uint64_t ran = run_all(ready_, [this](detail::runnable& r) {
        refill_inline_budget();
        r.run();
    });
    return ran + run_all(completed_, [this](io_operation& op) {
               refill_inline_budget();
               op.completed(op);
           });
}

/// Appends the tasks that used up their share in the last turn to those left over from earlier
/// ones.
void loop::begin_spent() noexcept {
    spent_.splice(spent_in_this_turn_);
    completed_spent_.splice(completed_spent_in_this_turn_);
}

/// Runs tasks that had used up their share for as long as all others have run since the system was
/// asked, and for a while at least.
std::uint64_t loop::run_spent() noexcept {
    constexpr duration a_while = std::chrono::milliseconds(1);
    constexpr std::uint64_t rounds_between_looks = 2;
    const time_point began = backend_->now();
    const duration limit = std::max(a_while, began - now_);
    std::uint64_t ran = 0;
    for (std::uint64_t round = 1;; ++round) {
        detail::runnable* const task = spent_.pop_front();
        if (task != nullptr) {
            refill_inline_budget();
            task->run();
            ++ran;
        }
        io_operation* const operation = completed_spent_.pop_front();
        if (operation != nullptr) {
            refill_inline_budget();
            operation->completed(*operation);
            ++ran;
        }
        if (task == nullptr && operation == nullptr) break;
        if (round % rounds_between_looks == 0 && backend_->now() - began > limit) break;
    }
    any_spent_ = !spent_.empty() || !completed_spent_.empty() || !spent_in_this_turn_.empty() ||
                 !completed_spent_in_this_turn_.empty();
    return ran;
}

std::uint64_t loop::run_handed() noexcept {
    std::uint64_t ran = 0;
    for (; ran != hand_overs; ++ran) {
        detail::runnable* r = handed_.pop_front();
        if (r == nullptr) break;
        refill_inline_budget();
        r->run();
    }
    return ran;
}

time_point loop::next_wake() const noexcept {
    if (!ready_.empty() || !later_.empty() || !handed_.empty() || !completed_.empty() || any_spent_)
        return time_point::min();
    const time_point wheel = deadlines_.next();
    if (timers_.empty()) return wheel;
    return timers_.next() < wheel ? timers_.next() : wheel;
}

/// Many tasks that use up their share make a turn long, for which all others wait: the shares
/// shrink until it is short.
void loop::adapt_share(duration turn_took) noexcept {
    constexpr duration too_long = std::chrono::milliseconds(16);
    constexpr duration short_enough = std::chrono::milliseconds(3);
    if (turn_took > too_long && share_ > least_share)
        share_ /= 2;
    else if (turn_took < short_enough && share_ < largest_share)
        share_ *= 2;
}

void loop::turn() {
    ++turns_;
    ready_.splice(later_);
    if (any_spent_) begin_spent();
    std::uint64_t ran = run_posted();
    ran += run_ready();
    if (any_spent_) ran += run_spent();
    ran += run_handed();
    tasks_ += ran;
    ran_in_turn_.store(ran, std::memory_order_relaxed);
    if (over()) return;
    refill_inline_budget();
    const time_point before = now_;
    const time_point wake = next_wake();
    backend_->wait(wake);
    // Without a wait the clock was not read.
    if (now_ == before) now_ = backend_->now();
    if (wake == time_point::min())
        adapt_share(now_ - before);
    else
        share_ = largest_share;
    if (!timers_.empty()) timers_.fire(now_);
    if (deadlines_.next() <= now_) deadlines_.advance(now_);
    trim_when_idle();
}

void loop::trim_when_idle() noexcept {
    // Returns blocks that a burst left to the system, half of them every ten seconds.
    constexpr duration interval = std::chrono::seconds(10);
    if (now_ - trimmed_ < interval) return;
    trimmed_ = now_;
    const bool some_left = pool_.trim();
    if (!backend_->is_of_the_system()) return;
    backend_->give_memory_back();
    // An idle loop continues this until no blocks are left.
    if (some_left) trim_turn_.arm_in(interval);
}

void loop::run_until(const bool& done) {
    detail::remote_runnable* ended = closed();
    posted_.compare_exchange_strong(ended, nullptr, std::memory_order_relaxed);
    enter();
    now_ = backend_->now();
    done_ = &done;
    while (!over()) turn();
    done_ = nullptr;
    root_.cancel();
    while (!over()) turn();
    stop_services();
    while (!over()) turn();
    // Posts behind the last turn are dropped, and destructors of what they hold may begin tasks,
    // which run to their ends. Not for ever: a function may post another when it is destroyed.
    constexpr int most_rounds = 16;
    for (int i = 0; i != most_rounds && posted_.load(std::memory_order_relaxed) != nullptr; ++i) {
        drop_posted();
        while (!over()) turn();
    }
    end_residents();
    close_posted();
    leave();
}

time_point loop::run_turn(const bool& done) {
    enter();
    now_ = backend_->now();
    done_ = &done;
    turn();
    done_ = nullptr;
    leave();
    return next_wake();
}

bool loop::over() const noexcept {
    if (done_ != nullptr) return *done_;
    return detached_ == 0 && (services_ == 0 || !stops_services_);
}

void loop::stop_services() noexcept {
    stops_services_ = true;
    root_.cancel_children();
}

}  // namespace coracle
