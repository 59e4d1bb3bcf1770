#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace coracle::metrics::detail {

/// Cells of 64 bits of one thread, which alone writes them. They come in chunks, so that adding
/// some moves none.
class cell_block {
public:
    static constexpr std::size_t chunk_size = 512;
    static constexpr std::size_t chunks = 64;
    static constexpr std::size_t most_cells = chunk_size * chunks;
    using cell = std::atomic<std::uint64_t>;

    cell_block() = default;
    cell_block(const cell_block&) = delete;
    cell_block& operator=(const cell_block&) = delete;
    ~cell_block();

    /// Returns null if there is no memory for it.
    cell* at(std::uint32_t index) noexcept {
        const auto* const there = chunks_[index / chunk_size].load(std::memory_order_relaxed);
        if (there == nullptr) [[unlikely]]
            return make(index);
        return const_cast<cell*>(&(*there)[index % chunk_size]);
    }
    /// From any thread.
    std::uint64_t read(std::uint32_t index) const noexcept {
        const auto* const there = chunks_[index / chunk_size].load(std::memory_order_acquire);
        return there == nullptr ? 0 : (*there)[index % chunk_size].load(std::memory_order_relaxed);
    }

private:
    using chunk = std::array<cell, chunk_size>;
    cell* make(std::uint32_t index) noexcept;

    std::array<std::atomic<chunk*>, chunks> chunks_{};
};

/// The blocks of all threads that count. That of a thread which has ended keeps its numbers, and
/// the next new thread goes on with it. Thread-safe.
class thread_cells {
public:
    thread_cells();
    thread_cells(const thread_cells&) = delete;
    thread_cells& operator=(const thread_cells&) = delete;
    ~thread_cells() = default;

    /// Adds to this thread's cell: a load and a store.
    void add(std::uint32_t index, std::uint64_t n) noexcept {
        if (cell_block::cell* const c = here(index)) [[likely]] {
            c->store(c->load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
        }
    }
    /// Adds to a cell that holds the bits of a double.
    void add_double(std::uint32_t index, double n) noexcept;

    /// Blocks that were made: as many as threads counted at a time.
    std::size_t blocks() const;
    std::uint64_t sum(std::uint32_t index) const;
    double sum_of_doubles(std::uint32_t index) const;

private:
    struct shared;
    friend struct thread_use;

    cell_block::cell* here(std::uint32_t index) noexcept {
        cell_block* const b = last_used.of == id_ ? last_used.block : find();
        return b == nullptr ? nullptr : b->at(index);
    }
    /// Returns null if there is no memory for it.
    cell_block* find() noexcept;

    /// The block that this thread used last.
    struct recent {
        std::uint64_t of = 0;
        cell_block* block = nullptr;
    };
    static thread_local constinit recent last_used;
    /// Set when this thread has given its blocks back: what its end counts still is lost.
    static thread_local constinit bool thread_is_over;

    std::shared_ptr<shared> shared_;
    const std::uint64_t id_;  ///< of no other, ever
};

}  // namespace coracle::metrics::detail
