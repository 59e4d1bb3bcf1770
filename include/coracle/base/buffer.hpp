#pragma once

#include <coracle/base/detail/block_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace coracle {

/// Received bytes in a pooled block, owned by this object and given back to the pool of the current
/// loop when it is destroyed. Bytes are consumed at the front and added at the back. Move-only; not
/// thread-safe, but may be destroyed on any thread.
class buffer {
public:
    /// The capacity of an ordinary read.
    static constexpr std::size_t default_capacity = 16 * 1024;
    /// No block is larger: there is no memory for it.
    static constexpr std::size_t most_capacity = std::size_t{2} << 30;

    buffer() noexcept = default;
    explicit buffer(std::size_t capacity) { obtain(capacity); }
    /// Takes over a block of `default_capacity` bytes from `detail::allocate_block`, of which the
    /// bytes from `begin` to `end` are filled.
    static buffer adopt(char* block, std::size_t begin, std::size_t end) noexcept {
        buffer b;
        b.own_ = {block, static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end),
                  static_cast<std::uint32_t>(default_capacity)};
        return b;
    }
    buffer(buffer&& other) noexcept : own_(std::exchange(other.own_, {})) {}
    [[gnu::always_inline]] buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            release();
            own_ = std::exchange(other.own_, {});
        }
        return *this;
    }
    ~buffer() {
        if (own_.block != nullptr) give_back();
    }

    explicit operator bool() const noexcept { return own_.block != nullptr; }
    bool empty() const noexcept { return own_.begin == own_.end; }
    std::size_t size() const noexcept { return own_.end - own_.begin; }
    std::size_t capacity() const noexcept { return own_.capacity; }
    const char* data() const noexcept { return own_.block + own_.begin; }
    /// The bytes not consumed yet; valid until the buffer is changed or destroyed.
    std::string_view view() const noexcept { return {own_.block + own_.begin, size()}; }

    /// Drops `n` bytes at the front, at most `size()`.
    void consume(std::size_t n) noexcept { own_.begin += static_cast<std::uint32_t>(n); }

    char* spare() noexcept { return own_.block + own_.end; }
    std::size_t spare_size() const noexcept { return own_.capacity - own_.end; }
    /// Bytes of the block before the first one, such as those that were consumed.
    std::size_t front_size() const noexcept { return own_.begin; }
    /// Adds `n` bytes before the first one, at most `front_size()`, and returns where to write
    /// them.
    char* prepend(std::size_t n) noexcept {
        own_.begin -= static_cast<std::uint32_t>(n);
        return own_.block + own_.begin;
    }
    /// Declares `n` bytes after the last one as written, at most `spare_size()`.
    void commit(std::size_t n) noexcept { own_.end += static_cast<std::uint32_t>(n); }

    /// Makes room for `n` more bytes, moving what is held to a larger block when it must.
    void reserve_spare(std::size_t n) {
        if (spare_size() < n) make_room(n);
    }
    void append(std::string_view bytes) {
        if (bytes.empty()) return;
        reserve_spare(bytes.size());
        std::memcpy(spare(), bytes.data(), bytes.size());
        commit(bytes.size());
    }

    /// Takes a block of at least `capacity` bytes, and of one; there must be none yet. Throws
    /// std::bad_alloc.
    void obtain(std::size_t capacity) {
        // With the usual size spelled out, the compiler knows the list that it comes from.
        if (capacity == default_capacity) {
            own_.block = static_cast<char*>(detail::allocate_block_of<default_capacity>());
            own_.capacity = default_capacity;
        } else {
            if (capacity > most_capacity) throw std::bad_alloc();
            const std::size_t size = block_pool::rounded(capacity == 0 ? 1 : capacity);
            own_.block = static_cast<char*>(detail::allocate_block(size));
            own_.capacity = static_cast<std::uint32_t>(size);
        }
    }

    /// Obtains a block as `obtain` does. Returns false, and leaves no block, when memory runs out.
    bool try_obtain(std::size_t capacity) noexcept {
        try {
            obtain(capacity);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    /// `append`; false, and nothing has changed, where there is no memory.
    bool try_append(std::string_view bytes) noexcept {
        try {
            append(bytes);
        } catch (const std::bad_alloc&) {
            return false;
        }
        return true;
    }

    void swap(buffer& other) noexcept { std::swap(own_, other.own_); }

    /// Drops all bytes and keeps the block.
    void clear() noexcept { own_.begin = own_.end = 0; }

    /// Frees the block at once; the buffer is empty then.
    void release() noexcept {
        if (own_.block == nullptr) return;
        give_back();
        own_ = {};
    }

private:
    void give_back() noexcept {
        if (own_.capacity == default_capacity) {
            detail::deallocate_block_of<default_capacity>(own_.block);
        } else {
            detail::deallocate_block(own_.block, own_.capacity);
        }
    }
    void make_room(std::size_t n);

    /// Moved as one: a third of the instructions that its members cost apart.
    struct parts {
        char* block = nullptr;
        std::uint32_t begin = 0;
        std::uint32_t end = 0;
        std::uint32_t capacity = 0;
    };
    parts own_;
};

}  // namespace coracle
