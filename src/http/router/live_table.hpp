#pragma once

#include "http/router/route_table.hpp"

#include <coracle/http/request.hpp>
#include <coracle/runtime/loop.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

namespace coracle::http::detail {

/// The table that a thread serves. Requests matched against it keep it alive.
struct alignas(64) served_table : pin {
    /// Null without middleware: requests go to the routes at once.
    struct content {
        route_table table;
        handler chain;  ///< the middleware around everything
    };
    explicit served_table(std::shared_ptr<const content> c) noexcept : of(std::move(c)) {
        dispose = [](pin* p) noexcept { delete static_cast<served_table*>(p); };
    }
    std::shared_ptr<const content> of;
};

/// Distributes the newest table to all serving threads. A reader never waits, and never writes to
/// memory that other threads read: it compares a counter with the last value, and only if it
/// differs takes the new table under a lock. An old table is destroyed after the last request that
/// uses it; on an idle thread, at its next request.
class live_table {
public:
    live_table() = default;
    live_table(const live_table&) = delete;
    live_table& operator=(const live_table&) = delete;
    ~live_table();

    /// Publishes a table. From any thread.
    void publish(std::shared_ptr<const served_table::content> next);

    /// Returns the newest table for this thread. Only after the first `publish`.
    served_table& of_this_thread() {
        // The address of a thread-local object identifies the thread.
        const auto* const thread = static_cast<const void*>(&coracle::detail::current_loop);
        for (place* p = bucket(thread).load(std::memory_order_acquire); p != nullptr; p = p->next) {
            if (p->thread != thread) continue;
            // Acquire: pairs with the store in `publish`.
            if (p->generation == generation_.load(std::memory_order_acquire)) return *p->current;
            return renew(*p);
        }
        return join(thread);
    }

private:
    /// The entry of one thread. It is never removed: a later thread with the same address takes it
    /// over.
    struct alignas(64) place {
        const void* thread = nullptr;
        std::uint64_t generation = 0;
        served_table* current = nullptr;
        place* next = nullptr;
    };
    static constexpr std::size_t buckets = 64;

    std::atomic<place*>& bucket(const void* thread) noexcept {
        const auto number = reinterpret_cast<std::uintptr_t>(thread);
        return first_[(number >> 12 ^ number >> 23) % buckets];
    }
    served_table& join(const void* thread);
    served_table& renew(place& p);
    static void retire(served_table* old) noexcept;

    std::atomic<std::uint64_t> generation_{0};
    std::atomic<place*> first_[buckets] = {};
    alignas(64) std::mutex lock_;
    std::shared_ptr<const served_table::content> newest_;
};

}  // namespace coracle::http::detail
