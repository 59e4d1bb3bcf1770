#pragma once

#include <coracle/base/export.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#if defined(__SANITIZE_ADDRESS__)
#define CORACLE_POOLS_STAND_ASIDE 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORACLE_POOLS_STAND_ASIDE 1
#endif
#endif
#ifndef CORACLE_POOLS_STAND_ASIDE
#define CORACLE_POOLS_STAND_ASIDE 0
#endif

namespace coracle {

/// Free lists of blocks, one pool a loop, for coroutine frames, message arenas and receive buffers:
/// multiples of 64 bytes up to 4 KiB, then powers of two up to 256 KiB. Each block comes from
/// `operator new` on its own, so a block may be given back on another thread or after its pool is
/// gone. Under AddressSanitizer the pool stands aside. Not thread-safe.
class block_pool {
public:
    static constexpr std::size_t granule = 64;
    static constexpr std::size_t small_limit = 4096;
    static constexpr std::size_t largest = 256 * 1024;
    /// Bytes of blocks above 4 KiB that are kept for reuse.
    static constexpr std::size_t large_kept = 1024 * 1024;

    block_pool() noexcept = default;
    block_pool(const block_pool&) = delete;
    block_pool& operator=(const block_pool&) = delete;
    ~block_pool() { release(0); }

    [[gnu::always_inline]] void* allocate(std::size_t size) {
        const std::size_t bin = bin_of(size);
        if (block* b = bins_[bin]) {
            bins_[bin] = b->next;
            --counts_[bin];
            if (bin >= small_bins) large_bytes_ -= size_of(bin);
            return b;
        }
        return ::operator new(size_of(bin));
    }

    [[gnu::always_inline]] void deallocate(void* p, std::size_t size) noexcept {
        const std::size_t bin = bin_of(size);
        if (bin >= small_bins) {
            if (large_bytes_ >= large_kept) {
                ::operator delete(p);
                return;
            }
            large_bytes_ += size_of(bin);
        }
        bins_[bin] = ::new (p) block{bins_[bin]};
        ++counts_[bin];
    }

    /// Halves what is kept, rounding down; a loop calls it from time to time. Returns true if there
    /// is still some.
    bool trim() noexcept;

    /// Returns all but `keep` blocks of each size to the system.
    void release(std::size_t keep) noexcept;

    /// The size that a request for `size` bytes really gets.
    static constexpr std::size_t rounded(std::size_t size) noexcept {
        return size - 1 < largest ? size_of(bin_of(size)) : size;
    }

private:
    struct block {
        block* next;
    };

    static constexpr std::size_t small_bins = small_limit / granule;
    static constexpr std::size_t bins = small_bins + 6;

    static constexpr std::size_t bin_of(std::size_t size) noexcept {
        if (size <= small_limit) return (size - 1) / granule;
        return small_bins + static_cast<std::size_t>(std::bit_width((size - 1) / small_limit)) - 1;
    }
    static constexpr std::size_t size_of(std::size_t bin) noexcept {
        return bin < small_bins ? (bin + 1) * granule : small_limit << (bin - small_bins + 1);
    }
    bool shrink(std::size_t bin, std::size_t target) noexcept;

    block* bins_[bins] = {};
    std::uint32_t counts_[bins] = {};
    std::size_t large_bytes_ = 0;
};

namespace detail {

/// The pool of the loop that runs on this thread, or null.
CORACLE_EXPORT inline constinit thread_local block_pool* current_pool = nullptr;

inline void* allocate_block(std::size_t size) {
    if constexpr (!CORACLE_POOLS_STAND_ASIDE) {
        if (size - 1 < block_pool::largest) {
            if (current_pool != nullptr) return current_pool->allocate(size);
            size = block_pool::rounded(size);
        }
    }
    return ::operator new(size);
}

/// Allocates `Size` bytes as `allocate_block` does; the size class is chosen at compile time.
/// Always inlined: GCC's own choice would depend on the number of callers.
template <std::size_t Size>
[[gnu::always_inline]] inline void* allocate_block_of() {
    if constexpr (!CORACLE_POOLS_STAND_ASIDE) {
        static_assert(Size - 1 < block_pool::largest);
        if (current_pool != nullptr) [[likely]]
            return current_pool->allocate(Size);
        return ::operator new(block_pool::rounded(Size));
    }
    return ::operator new(Size);
}

inline void deallocate_block(void* p, std::size_t size) noexcept {
    if constexpr (!CORACLE_POOLS_STAND_ASIDE) {
        if (size - 1 < block_pool::largest && current_pool != nullptr) {
            current_pool->deallocate(p, size);
            return;
        }
    }
    ::operator delete(p);
}

/// The base of objects that come from the pool of the current loop. Under multiple inheritance one
/// base has it.
struct pooled {
    static void* operator new(std::size_t size) { return allocate_block(size); }
    static void operator delete(void* p, std::size_t size) noexcept { deallocate_block(p, size); }
};

template <std::size_t Size>
[[gnu::always_inline]] inline void deallocate_block_of(void* p) noexcept {
    if constexpr (!CORACLE_POOLS_STAND_ASIDE) {
        if (current_pool != nullptr) [[likely]] {
            current_pool->deallocate(p, Size);
            return;
        }
    }
    ::operator delete(p);
}

}  // namespace detail
}  // namespace coracle
