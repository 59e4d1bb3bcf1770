#pragma once

#include <coracle/base/block_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

namespace coracle {

/// Received bytes in a pooled block, owned by whoever holds this object and given back to the pool
/// of the current loop when it is destroyed. Bytes are consumed at the front and added at the
/// back. Move-only; not thread-safe, but may be destroyed on any thread.
class buffer {
public:
    /// The capacity of an ordinary read.
    static constexpr std::size_t default_capacity = 16 * 1024;

    buffer() noexcept = default;
    explicit buffer(std::size_t capacity)
        : capacity_(static_cast<std::uint32_t>(block_pool::rounded(capacity))) {
        // With the usual size spelled out, the compiler knows the list that it comes from.
        block_ = static_cast<char*>(capacity_ == default_capacity
                                        ? detail::allocate_block(default_capacity)
                                        : detail::allocate_block(capacity_));
    }
    buffer(buffer&& other) noexcept
        : block_(std::exchange(other.block_, nullptr)), begin_(std::exchange(other.begin_, 0)),
          end_(std::exchange(other.end_, 0)), capacity_(std::exchange(other.capacity_, 0)) {}
    buffer& operator=(buffer&& other) noexcept {
        if (this != &other) {
            release();
            block_ = std::exchange(other.block_, nullptr);
            begin_ = std::exchange(other.begin_, 0);
            end_ = std::exchange(other.end_, 0);
            capacity_ = std::exchange(other.capacity_, 0);
        }
        return *this;
    }
    ~buffer() { release(); }

    explicit operator bool() const noexcept { return block_ != nullptr; }
    bool empty() const noexcept { return begin_ == end_; }
    std::size_t size() const noexcept { return end_ - begin_; }
    std::size_t capacity() const noexcept { return capacity_; }
    const char* data() const noexcept { return block_ + begin_; }
    /// The bytes not consumed yet; valid until the buffer is changed or destroyed.
    std::string_view view() const noexcept { return {block_ + begin_, size()}; }

    /// Drops `n` bytes at the front, at most `size()`.
    void consume(std::size_t n) noexcept { begin_ += static_cast<std::uint32_t>(n); }

    char* spare() noexcept { return block_ + end_; }
    std::size_t spare_size() const noexcept { return capacity_ - end_; }
    /// Declares `n` bytes behind the last one as written, at most `spare_size()`.
    void commit(std::size_t n) noexcept { end_ += static_cast<std::uint32_t>(n); }

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

    void swap(buffer& other) noexcept {
        std::swap(block_, other.block_);
        std::swap(begin_, other.begin_);
        std::swap(end_, other.end_);
        std::swap(capacity_, other.capacity_);
    }

    /// Drops all bytes and keeps the block.
    void clear() noexcept { begin_ = end_ = 0; }

    /// Gives the block back at once; the buffer is then empty.
    void release() noexcept {
        if (block_ == nullptr) return;
        if (capacity_ == default_capacity) {
            detail::deallocate_block(block_, default_capacity);
        } else {
            detail::deallocate_block(block_, capacity_);
        }
        block_ = nullptr;
        begin_ = end_ = capacity_ = 0;
    }

private:
    void make_room(std::size_t n);

    char* block_ = nullptr;
    std::uint32_t begin_ = 0;
    std::uint32_t end_ = 0;
    std::uint32_t capacity_ = 0;
};

}  // namespace coracle
