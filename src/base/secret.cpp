#include <coracle/base/secret.hpp>

#include <cstring>

namespace coracle {

void wipe(void* memory, std::size_t size) noexcept {
    if (size == 0) return;
    std::memset(memory, 0, size);
    // The memory is used from here on, as far as the compiler can know.
    asm volatile("" : : "r"(memory) : "memory");
}

}  // namespace coracle
