#include "http/files/compressed_cache.hpp"

#include "http/files/compress_file.hpp"

#include <coracle/runtime/offload.hpp>

#include <iterator>
#include <new>

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

bool operator==(const compressed_cache::key& a, const compressed_cache::key& b) noexcept {
    return a.coding == b.coding && a.file.inode == b.file.inode &&
           a.file.modified_ns == b.file.modified_ns && a.file.size == b.file.size &&
           a.file.device == b.file.device;
}

std::size_t compressed_cache::hash::operator()(const key& k) const noexcept {
    // No part of the key is chosen by a client.
    std::uint64_t h = k.file.inode * 0x9e3779b97f4a7c15u;
    h ^= static_cast<std::uint64_t>(k.file.modified_ns) + k.file.size;
    h = h * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(k.coding) + k.file.device;
    return static_cast<std::size_t>(h ^ (h >> 32));
}

std::optional<compressed_cache::content> compressed_cache::find(const key& k) {
    const lock_guard held(lock_);
    return find_locked(k);
}

std::optional<compressed_cache::content> compressed_cache::find_locked(const key& k) {
    const auto at = entries_.find(k);
    if (at == entries_.end()) return std::nullopt;
    used_.splice(used_.begin(), used_, at->second);
    return at->second->bytes;
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
    std::list<entry> dropped;  // their memory is not freed under the lock
    {
        const lock_guard held(lock_);
        const auto mine = attempts_.find(a->of);
        if (mine == attempts_.end() || mine->second != a) return;
        attempts_.erase(mine);
        try {
            if (result) keep(a->of, *result, dropped);
        } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): those who wait get it
                                           // all the same
        }
    }
    if (result) a->result = *std::move(result);
    a->done.word.store(how, std::memory_order_release);
    a->done.wake_all();
}

// Under the lock.
void compressed_cache::keep(const key& k, const content& c, std::list<entry>& dropped) {
    entry e{k, c};
    if (e.cost() > limit_) return;
    std::list<entry> made;
    made.push_front(std::move(e));
    entries_[k] = made.begin();
    bytes_ += made.front().cost();
    used_.splice(used_.begin(), made);
    while (bytes_ > limit_) {
        bytes_ -= used_.back().cost();
        entries_.erase(used_.back().of);
        dropped.splice(dropped.begin(), used_, std::prev(used_.end()));
    }
}

std::size_t compressed_cache::bytes() {
    const lock_guard held(lock_);
    return bytes_;
}

}  // namespace coracle::http::detail
