#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// Lines on their way from one thread to the one that writes them.
class line_ring {
public:
    /// `capacity` is a power of two. `owner` says whose it is.
    line_ring(const void* owner, std::size_t capacity)
        : owner_(owner), mask_(capacity - 1), bytes_(new char[capacity]) {}

    const void* owner() const noexcept { return owner_; }

    /// By its owner. False when there is no room, which is counted.
    bool push(std::string_view line) noexcept {
        const std::size_t end = end_.load(std::memory_order_relaxed);
        // Acquire: the reader is done with the bytes that are overwritten.
        if (line.size() > mask_ + 1 - (end - begin_.load(std::memory_order_acquire))) {
            count(dropped_);
            return false;
        }
        const std::size_t first = end & mask_;
        const std::size_t head = line.copy(bytes_.get() + first, mask_ + 1 - first);
        line.substr(head).copy(bytes_.get(), mask_ + 1);
        count(lines_);
        // Release: who sees the new end sees the bytes.
        end_.store(end + line.size(), std::memory_order_release);
        return true;
    }

    bool empty() const noexcept { return size() == 0; }
    bool half_full() const noexcept { return size() > mask_ / 2; }

    /// By the reader: moves all that there is behind `into`.
    void take(std::string& into) {
        const std::size_t begin = begin_.load(std::memory_order_relaxed);
        const std::size_t count = end_.load(std::memory_order_acquire) - begin;
        const std::size_t first = begin & mask_;
        const std::size_t head = count < mask_ + 1 - first ? count : mask_ + 1 - first;
        into.append(bytes_.get() + first, head).append(bytes_.get(), count - head);
        begin_.store(begin + count, std::memory_order_release);
    }

    std::uint64_t lines() const noexcept { return lines_.load(std::memory_order_relaxed); }
    std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

    line_ring* next = nullptr;

private:
    std::size_t size() const noexcept {
        return end_.load(std::memory_order_acquire) - begin_.load(std::memory_order_acquire);
    }
    // One writer: no read-modify-write.
    static void count(std::atomic<std::uint64_t>& n) noexcept {
        n.store(n.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    const void* const owner_;
    const std::size_t mask_;
    const std::unique_ptr<char[]> bytes_;
    std::atomic<std::uint64_t> lines_{0};
    std::atomic<std::uint64_t> dropped_{0};
    std::atomic<std::size_t> end_{0};
    // Written by the reader.
    alignas(64) std::atomic<std::size_t> begin_{0};
};

}  // namespace coracle::fs::detail
