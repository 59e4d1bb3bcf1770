#include "http/files/compressed_cache.hpp"

#include "http/files/compress_file.hpp"

#include <coracle/runtime/offload.hpp>

#include <new>
#include <tuple>

namespace coracle::http::detail {

using lock_guard = coracle::detail::short_lock::guard;

/// A file that is being compressed, and the tasks that wait for it.
struct compressed_cache::attempt {
    enum state : std::uint32_t {
        under_way,
        abandoned,  // cancelled before it began: the next task tries
        ended,      // `result` holds
    };
    explicit attempt(const key& k) noexcept : of(k) {}
    key of;
    content result;
    futex done{under_way};
};

bool operator<(const compressed_cache::key& a, const compressed_cache::key& b) noexcept {
    const auto parts = [](const compressed_cache::key& k) {
        return std::tie(k.file.inode, k.file.modified_ns, k.file.size, k.file.device, k.coding);
    };
    return parts(a) < parts(b);
}

std::optional<compressed_cache::content> compressed_cache::find(const key& k) {
    const lock_guard held(lock_);
    return find_locked(k);
}

std::optional<compressed_cache::content> compressed_cache::find_locked(const key& k) {
    const content* const known = entries_.use(k);
    return known != nullptr ? std::optional<content>(*known) : std::nullopt;
}

// The attempt to wait for, or to make if `mine`; none if `ready` is set.
std::shared_ptr<compressed_cache::attempt> compressed_cache::join(const key& k,
                                                                  std::optional<content>& ready,
                                                                  bool& mine) {
    const lock_guard held(lock_);
    ready = find_locked(k);
    if (ready) return nullptr;
    const auto under_way = attempts_.find(k);
    mine = under_way == attempts_.end();
    if (!mine) return under_way->second;
    if (attempts_.size() >= most_at_once) {
        ready = nullptr;
        return nullptr;
    }
    return attempts_[k] = std::make_shared<attempt>(k);
}

task<compressed_cache::content> compressed_cache::get(const key& k, const fs::plain_file& file) {
    // Abandons the attempt if it was cancelled before its work began.
    struct ending {
        compressed_cache* cache;
        std::shared_ptr<attempt> of;
        ~ending() { cache->finish(of, attempt::abandoned, std::nullopt); }
    };
    for (;;) {
        std::optional<content> ready;
        bool mine = false;
        const std::shared_ptr<attempt> a = join(k, ready, mine);
        if (ready) co_return *std::move(ready);
        if (!mine) {
            // Without as_result, with which a cancelled task would wait again.
            co_await a->done.wait(attempt::under_way);
            if (a->done.word.load(std::memory_order_acquire) == attempt::ended) {
                co_return a->result;
            }
            continue;
        }
        const ending at_the_end{this, a};
        const auto work = [this, &a, &file] {
            auto made = compress_file(file, a->of.coding);
            finish(a, attempt::ended,
                   made ? std::optional<content>(*std::move(made)) : std::nullopt);
        };
        [[maybe_unused]] const auto worked =
            co_await as_result(coracle::detail::offload_file_work(work));
        co_return a->result;
    }
}

// Ends an attempt, once: keeps its result, and wakes the waiting tasks.
void compressed_cache::finish(const std::shared_ptr<attempt>& a, std::uint32_t how,
                              std::optional<content> result) {
    {
        const lock_guard held(lock_);
        const auto mine = attempts_.find(a->of);
        if (mine == attempts_.end() || mine->second != a) return;
        attempts_.erase(mine);
        try {
            if (result) keep(a->of, *result);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): those who wait get it
                                           // all the same
        }
    }
    drop_beyond_limit();
    if (result) a->result = *std::move(result);
    a->done.word.store(how, std::memory_order_release);
    a->done.wake_all();
}

// The memory that an entry takes, with about that of the map.
std::size_t compressed_cache::cost_of(const content& c) noexcept {
    return 256 + (c ? c->size() : 0);
}

// Under the lock.
void compressed_cache::keep(const key& k, const content& c) {
    if (cost_of(c) > limit_) return;
    entries_.put(k, c);
    bytes_ += cost_of(c);
}

void compressed_cache::drop_beyond_limit() {
    for (;;) {
        content dropped;  // its memory is not freed under the lock
        const lock_guard held(lock_);
        if (bytes_ <= limit_) return;
        dropped = entries_.take_oldest();
        bytes_ -= cost_of(dropped);
    }
}

std::size_t compressed_cache::bytes() {
    const lock_guard held(lock_);
    return bytes_;
}

}  // namespace coracle::http::detail
