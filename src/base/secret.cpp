#include <coracle/base/secret.hpp>

#include <cstring>

namespace coracle {

void wipe(void* memory, std::size_t size) noexcept {
    if (size == 0) return;
    std::memset(memory, 0, size);
    // Makes the compiler assume that the memory is read, so that it keeps the writes.
    asm volatile("" : : "r"(memory) : "memory");
}

}  // namespace coracle
