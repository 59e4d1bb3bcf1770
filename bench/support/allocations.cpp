#include "allocations.hpp"

#include <cstddef>
#include <cstdlib>
#include <new>

namespace bench {
std::atomic<std::uint64_t> allocations{0};
}

namespace {

void* count_and_allocate(std::size_t size, std::size_t alignment) {
    // A load and a store: threads may lose a count to each other, but none waits for another.
    bench::allocations.store(bench::allocations.load(std::memory_order_relaxed) + 1,
                             std::memory_order_relaxed);
    if (size == 0) size = 1;
    void* p = alignment <= alignof(std::max_align_t)
                  ? std::malloc(size)
                  : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

}  // namespace

// The forms that are not here (arrays, nothrow) lead to these.
void* operator new(std::size_t size) {
    return count_and_allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
    return count_and_allocate(size, static_cast<std::size_t>(alignment));
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
