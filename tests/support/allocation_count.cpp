#include "support/allocation_count.hpp"

#include <coracle/base/block_pool.hpp>

#include <cstdlib>
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

#if COUNTS_ALLOCATIONS
namespace {

void* counted(std::size_t size, std::size_t alignment) {
    ++count;
    bytes += size;
    if (size == 0) size = 1;
    // aligned_alloc wants a multiple of the alignment.
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(size)
                  : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
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
    std::free(p);
}
void operator delete(void* p, std::size_t) noexcept {
    std::free(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
    std::free(p);
}
void operator delete(void* p, std::size_t, std::align_val_t) noexcept {
    std::free(p);
}
#endif
