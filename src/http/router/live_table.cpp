#include "http/router/live_table.hpp"

namespace coracle::http::detail {

live_table::~live_table() {
    for (auto& bucket : first_) {
        place* p = bucket.load(std::memory_order_acquire);
        while (p != nullptr) {
            retire(p->current);
            delete std::exchange(p, p->next);
        }
    }
}

void live_table::publish(std::shared_ptr<const served_table::content> next) {
    const std::scoped_lock held(lock_);
    // The old table may be the last reference: it is destroyed after the lock is released.
    newest_.swap(next);
    // For writers only, one at a time.
    const std::uint64_t now = generation_.load(std::memory_order_relaxed);
    generation_.store(now + 1, std::memory_order_release);
}

served_table& live_table::join(const void* thread) {
    auto* const p = new place;
    p->thread = thread;
    std::atomic<place*>& first = bucket(thread);
    p->next = first.load(std::memory_order_relaxed);
    while (!first.compare_exchange_weak(p->next, p, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
    return renew(*p);
}

served_table& live_table::renew(place& p) {
    auto fresh = std::make_unique<served_table>(nullptr);
    {
        const std::scoped_lock held(lock_);
        fresh->of = newest_;
        p.generation = generation_.load(std::memory_order_relaxed);
    }
    retire(std::exchange(p.current, fresh.release()));
    return *p.current;
}

void live_table::retire(served_table* old) noexcept {
    if (old == nullptr) return;
    if (old->holders == 0)
        delete old;
    else
        old->retired = true;
}

}  // namespace coracle::http::detail
