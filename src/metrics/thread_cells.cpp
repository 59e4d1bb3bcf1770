#include "metrics/thread_cells.hpp"

#include <algorithm>
#include <bit>
#include <new>

namespace coracle::metrics::detail {

cell_block::~cell_block() {
    for (auto& c : chunks_) delete c.load(std::memory_order_relaxed);
}

cell_block::cell* cell_block::make(std::uint32_t index) noexcept {
    auto* const made = new (std::nothrow) chunk();
    if (made == nullptr) return nullptr;
    // Released for those who read it: its cells are zero.
    chunks_[index / chunk_size].store(made, std::memory_order_release);
    return &(*made)[index % chunk_size];
}

struct thread_cells::shared {
    mutable std::mutex guard;
    std::vector<std::unique_ptr<cell_block>> blocks;
    std::vector<cell_block*> unused;  ///< of threads that have ended; has room for all
};

/// The blocks that a thread uses, which it gives back when it ends.
struct thread_use {
    struct entry {
        std::uint64_t of;
        std::weak_ptr<thread_cells::shared> owner;
        cell_block* block;
    };
    std::vector<entry> entries;

    thread_use() = default;
    thread_use(const thread_use&) = delete;
    thread_use& operator=(const thread_use&) = delete;
    ~thread_use() {
        thread_cells::last_used = {};
        thread_cells::thread_is_over = true;
        for (const entry& e : entries) {
            const auto owner = e.owner.lock();
            if (owner == nullptr) continue;
            const std::lock_guard lock(owner->guard);
            owner->unused.push_back(e.block);
        }
    }
};

namespace {

std::uint64_t next_id() noexcept {
    static std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

thread_local constinit thread_cells::recent thread_cells::last_used;
thread_local constinit bool thread_cells::thread_is_over = false;

thread_cells::thread_cells() : shared_(std::make_shared<shared>()), id_(next_id()) {}

cell_block* thread_cells::find() noexcept {
    if (thread_is_over) return nullptr;
    static thread_local thread_use used;
    try {
        const auto known = std::ranges::find(used.entries, id_, &thread_use::entry::of);
        if (known != used.entries.end()) {
            last_used = {id_, known->block};
            return last_used.block;
        }
        std::erase_if(used.entries, [](const auto& e) { return e.owner.expired(); });
        used.entries.reserve(used.entries.size() + 1);
        const std::lock_guard lock(shared_->guard);
        if (shared_->unused.empty()) {
            shared_->unused.reserve(shared_->blocks.size() + 1);
            shared_->blocks.push_back(std::make_unique<cell_block>());
            shared_->unused.push_back(shared_->blocks.back().get());
        }
        cell_block* const mine = shared_->unused.back();
        used.entries.push_back({id_, shared_, mine});
        shared_->unused.pop_back();
        last_used = {id_, mine};
        return mine;
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void thread_cells::add_double(std::uint32_t index, double n) noexcept {
    cell_block::cell* const c = here(index);
    if (c == nullptr) return;
    const double sum = std::bit_cast<double>(c->load(std::memory_order_relaxed)) + n;
    c->store(std::bit_cast<std::uint64_t>(sum), std::memory_order_relaxed);
}

std::size_t thread_cells::blocks() const {
    const std::lock_guard lock(shared_->guard);
    return shared_->blocks.size();
}

std::uint64_t thread_cells::sum(std::uint32_t index) const {
    const std::lock_guard lock(shared_->guard);
    std::uint64_t all = 0;
    for (const auto& b : shared_->blocks) all += b->read(index);
    return all;
}

double thread_cells::sum_of_doubles(std::uint32_t index) const {
    const std::lock_guard lock(shared_->guard);
    double all = 0;
    for (const auto& b : shared_->blocks) all += std::bit_cast<double>(b->read(index));
    return all;
}

}  // namespace coracle::metrics::detail
