#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::fs::detail {

/// A ring of lines from one thread to the writing thread.
class line_ring {
public:
    /// `capacity` is a power of two. `owner` identifies the owner.
    line_ring(const void* owner, std::size_t capacity)
        : owner_(owner), mask_(capacity - 1), bytes_(new char[capacity]) {}

    const void* owner() const noexcept { return owner_; }

    /// Adds a line; called by the owner. Returns false, and counts that, if the line does not fit.
    bool push(std::string_view line) noexcept {
        const std::size_t end = end_.load(std::memory_order_relaxed);
        // Acquire: the reader has finished with the bytes that are overwritten.
        if (line.size() > mask_ + 1 - (end - begin_.load(std::memory_order_acquire))) {
            count(dropped_);
            return false;
        }
        const std::size_t first = end & mask_;
        const std::size_t head = line.copy(bytes_.get() + first, mask_ + 1 - first);
        line.substr(head).copy(bytes_.get(), mask_ + 1);
        count(lines_);
        // Release: a reader that sees the new end also sees the bytes.
        end_.store(end + line.size(), std::memory_order_release);
        return true;
    }

    bool empty() const noexcept { return size() == 0; }
    bool half_full() const noexcept { return size() > mask_ / 2; }

    /// Appends all bytes to `into`; called by the reader.
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
