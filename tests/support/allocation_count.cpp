#include "support/allocation_count.hpp"

#include "support/freed_memory.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__SANITIZE_THREAD__)
#define COUNTS_ALLOCATIONS 0
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define COUNTS_ALLOCATIONS 0
#endif
#endif
#ifndef COUNTS_ALLOCATIONS
#define COUNTS_ALLOCATIONS !CORACLE_POOLS_STAND_ASIDE
#endif

namespace coracle::testing {
namespace {

constinit thread_local std::size_t count = 0;
constinit thread_local std::size_t bytes = 0;
constinit thread_local freed_memory_watch* watch = nullptr;
constinit thread_local std::size_t fails_in = 0;
constinit std::atomic<std::ptrdiff_t> live = 0;

}  // namespace

std::size_t allocations() noexcept {
    return count;
}

std::size_t allocated_bytes() noexcept {
    return bytes;
}

bool counts_allocations() noexcept {
    return COUNTS_ALLOCATIONS;
}

freed_memory_watch::freed_memory_watch(std::string_view text) noexcept : text_(text) {
    watch = this;
}

freed_memory_watch::~freed_memory_watch() {
    watch = nullptr;
}

void freed_memory_watch::freed(const void* block, std::size_t size) noexcept {
    if (::memmem(block, size, text_.data(), text_.size()) != nullptr) ++found_;
}

void fail_allocation(std::size_t n) noexcept {
    fails_in = n;
}

bool allocation_will_fail() noexcept {
    return fails_in != 0;
}

std::ptrdiff_t live_allocations() noexcept {
    return live.load(std::memory_order_relaxed);
}

#if COUNTS_ALLOCATIONS
namespace {

void release(void* p) noexcept {
    if (watch != nullptr && p != nullptr) watch->freed(p, ::malloc_usable_size(p));
    if (p != nullptr) live.fetch_sub(1, std::memory_order_relaxed);
    std::free(p);
}

void* counted(std::size_t size, std::size_t alignment) {
    ++count;
    bytes += size;
    if (fails_in != 0 && --fails_in == 0) throw std::bad_alloc();
    if (size == 0) size = 1;
    // aligned_alloc wants a multiple of the alignment.
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(size)
                  : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    // Earlier contents of the block are not searched.
    if (watch != nullptr) std::memset(p, 0, ::malloc_usable_size(p));
    live.fetch_add(1, std::memory_order_relaxed);
    return p;
}

}  // namespace
#endif
}  // namespace coracle::testing

#if COUNTS_ALLOCATIONS
// The forms that the library's own call: arrays and nothrow come to these by default.
void* operator new(std::size_t size) {
    return coracle::testing::counted(size, 1);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return coracle::testing::counted(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* p) noexcept {
    coracle::testing::release(p);
}
void operator delete(void* p, std::size_t) noexcept {
    coracle::testing::release(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    coracle::testing::release(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
    coracle::testing::release(p);
}
#endif
