#pragma once

#include <coracle/base/buffer.hpp>

#include <liburing.h>

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::detail {

/// The receive buffers that a loop lends to the kernel: ordinary blocks of the pool. A filled one
/// is passed to its reader, and replaced by a new one. Each has a number, by which lists of filled,
/// unread buffers refer to it.
class uring_buffers {
public:
    using number = std::uint16_t;
    static constexpr number none = 0xffff;
    static constexpr unsigned short group = 0;
    static constexpr unsigned entries = 1024;      ///< size of the ring: the most buffers lent
    static constexpr unsigned lent_at_first = 64;  ///< doubled in each turn in which they run out
    static constexpr unsigned lent_at_most = entries / 2;
    static constexpr unsigned numbers_at_most = 32'768;

    /// `most`: the limit of buffers that are lent, or filled and unread.
    explicit uring_buffers(unsigned most) noexcept : most_(most) {}
    uring_buffers(const uring_buffers&) = delete;
    uring_buffers& operator=(const uring_buffers&) = delete;
    ~uring_buffers();

    /// Registers the ring of buffers. Returns 0 or a negated errno.
    int open(io_uring& ring) noexcept;
    bool is_open() const noexcept { return ring_ != nullptr; }
    /// To be called when the ring was closed: lent buffers are ours again.
    void forget_lent() noexcept;
    /// Frees all buffers.
    void drop() noexcept;

    /// To be called when the kernel has filled a buffer with `size` bytes.
    void filled(number n, std::size_t size) noexcept {
        slot& s = slots_[n];
        s.begin = 0;
        s.end = static_cast<std::uint32_t>(size);
        s.next = none;
        s.is_lent = false;
        --lent_;
    }
    std::string_view bytes(number n) const noexcept {
        const slot& s = slots_[n];
        return {s.block + s.begin, s.end - s.begin};
    }
    void consume(number n, std::size_t size) noexcept {
        slots_[n].begin += static_cast<std::uint32_t>(size);
    }
    /// Returns the block with its bytes, and frees the number.
    buffer take(number n) noexcept {
        slot& s = slots_[n];
        char* const block = s.block;
        s.block = nullptr;
        s.next = free_;
        free_ = n;
        return buffer::adopt(block, s.begin, s.end);
    }
    /// Frees a buffer without reading its bytes.
    void give_back(number n) noexcept {
        slots_[n].next = free_;
        free_ = n;
    }

    number& next(number n) noexcept { return slots_[n].next; }

    /// Lends buffers up to the current number. New blocks come from the pool of the running loop.
    void replenish() noexcept {
        if (std::exchange(ran_out_, false) && !lends_most()) wanted_ *= 2;
        if (lent_ < wanted_) lend_more();
    }
    /// To be called when a receive found none.
    void run_out() noexcept { ran_out_ = true; }
    bool lends_most() const noexcept { return wanted_ == lent_at_most; }
    unsigned lent() const noexcept { return lent_; }

private:
    struct slot {
        char* block = nullptr;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        number next = none;
        bool is_lent = false;
    };
    void lend_more() noexcept;
    bool lend_one(int offset) noexcept;

    io_uring_buf_ring* ring_ = nullptr;
    std::vector<slot> slots_;
    number free_ = none;
    unsigned lent_ = 0;
    unsigned wanted_ = lent_at_first;
    bool ran_out_ = false;
    unsigned most_;
};

}  // namespace coracle::detail
