#pragma once

#include <coracle/base/detail/block_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace coracle {

/// Memory that is freed all at once: a message keeps its head in one. Takes its first chunk at the
/// first allocation. Runs no destructors. Move-only (moved-from is empty), not thread-safe.
class arena {
public:
    static constexpr std::size_t first_chunk = 512;

    arena() noexcept = default;
    arena(arena&& other) noexcept
        : chunk_(std::exchange(other.chunk_, nullptr)), next_(std::exchange(other.next_, nullptr)),
          end_(std::exchange(other.end_, nullptr)) {}
    arena& operator=(arena&& other) noexcept {
        if (this != &other) {
            if (chunk_ != nullptr) release();
            chunk_ = std::exchange(other.chunk_, nullptr);
            next_ = std::exchange(other.next_, nullptr);
            end_ = std::exchange(other.end_, nullptr);
        }
        return *this;
    }
    ~arena() {
        if (chunk_ != nullptr) release();
    }

    /// Uninitialised memory, aligned to `alignment` (a power of two, at most 16).
    void* allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) {
        const std::size_t gap = -reinterpret_cast<std::uintptr_t>(next_) & (alignment - 1);
        if (static_cast<std::size_t>(end_ - next_) < size + gap) return allocate_in_new_chunk(size);
        char* p = next_ + gap;
        next_ = p + size;
        return p;
    }

    template <class T>
    T* allocate_array(std::size_t n) {
        return static_cast<T*>(allocate(n * sizeof(T), alignof(T)));
    }

    std::string_view copy(std::string_view text) {
        if (text.empty()) return {};
        char* p = static_cast<char*>(allocate(text.size(), 1));
        std::memcpy(p, text.data(), text.size());
        return {p, text.size()};
    }

    /// Frees everything; pointers into the arena dangle from here on.
    void release() noexcept;

    /// Frees everything but the first chunk, for the next message.
    void reset() noexcept {
        if (chunk_ == nullptr) return;
        if (chunk_->previous != nullptr) release_later_chunks();
        next_ = reinterpret_cast<char*>(chunk_ + 1);
        end_ = reinterpret_cast<char*>(chunk_) + chunk_->size;
    }

private:
    struct alignas(std::max_align_t) chunk {
        chunk* previous;
        std::size_t size;
    };

    void* allocate_in_new_chunk(std::size_t size);
    void release_later_chunks() noexcept;

    chunk* chunk_ = nullptr;
    char* next_ = nullptr;
    char* end_ = nullptr;
};

}  // namespace coracle
