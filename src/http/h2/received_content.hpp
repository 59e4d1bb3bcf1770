#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/base/detail/block_pool.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

namespace coracle::http::h2 {

/// A block of received bytes of which several streams may hold parts: it lives as long as one of
/// its handles. Not thread-safe.
class shared_block {
public:
    shared_block() noexcept = default;
    /// Takes over the block; views into it stay valid. Throws std::bad_alloc.
    explicit shared_block(buffer bytes) : held_(new held(std::move(bytes))) {}
    shared_block(const shared_block& other) noexcept : held_(other.held_) {
        if (held_ != nullptr) ++held_->handles;
    }
    shared_block(shared_block&& other) noexcept : held_(std::exchange(other.held_, nullptr)) {}
    shared_block& operator=(shared_block other) noexcept {
        std::swap(held_, other.held_);
        return *this;
    }
    ~shared_block() {
        if (held_ != nullptr && --held_->handles == 0) delete held_;
    }

    explicit operator bool() const noexcept { return held_ != nullptr; }
    /// Bytes of memory that a part of it keeps.
    [[nodiscard]] std::size_t capacity() const noexcept { return held_->bytes.capacity(); }
    [[nodiscard]] buffer& bytes() noexcept { return held_->bytes; }

private:
    struct held : coracle::detail::pooled {
        explicit held(buffer b) noexcept : bytes(std::move(b)) {}
        buffer bytes;
        std::uint32_t handles = 1;
    };
    held* held_ = nullptr;
};

/// The content of a stream that was received and not read yet: parts of the blocks that it came
/// in, without a copy, but for those that would keep a block of which most is not theirs.
/// Move-only.
class received_content {
public:
    received_content() noexcept = default;
    received_content(received_content&& other) noexcept
        : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)),
          size_(std::exchange(other.size_, 0)), lent_(std::exchange(other.lent_, 0)) {}
    received_content& operator=(received_content&&) = delete;
    ~received_content() { forget(); }

    /// Adds a piece, which is not empty and lies in `block`. Throws std::bad_alloc.
    void add(std::string_view bytes, const shared_block& block) {
        if (bytes.size() * largest_share >= block.capacity()) {
            append(new piece(block, bytes));
        } else {
            copy(bytes);
        }
        size_ += bytes.size();
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Bytes that were added and not given.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// All of it is one piece.
    [[nodiscard]] bool is_one_piece() const noexcept { return first_ == last_; }
    /// Bytes of the piece that was given last.
    [[nodiscard]] std::size_t lent() const noexcept { return lent_; }

    /// Returns the next piece; there is one. Valid until `done`.
    std::string_view next() noexcept {
        lent_ = first_->bytes.size();
        size_ -= lent_;
        return first_->bytes;
    }
    /// The piece that was given last is not needed any more: gives its bytes.
    std::size_t done() noexcept {
        if (lent_ != 0) drop_first();
        return std::exchange(lent_, 0);
    }
    /// Drops what was not given: the last piece stays until `done`. Gives the bytes dropped.
    std::size_t drop_unread() noexcept {
        if (lent_ == 0) forget();
        while (first_ != last_) drop_second();
        return std::exchange(size_, 0);
    }
    /// Drops all that is there, and gives its bytes, those of the last piece among them.
    std::size_t clear() noexcept {
        forget();
        return std::exchange(size_, 0) + std::exchange(lent_, 0);
    }

private:
    /// A piece keeps at most so many times its size.
    static constexpr std::size_t largest_share = 4;
    static constexpr std::size_t copied_block = 4096;

    struct piece : coracle::detail::pooled {
        piece(shared_block from, std::string_view of) noexcept
            : block(std::move(from)), bytes(of) {}

        shared_block block;
        std::string_view bytes;
        bool copied = false;  ///< nothing else stands in its block
        piece* next = nullptr;
    };

    void append(piece* added) noexcept {
        (last_ == nullptr ? first_ : last_->next) = added;
        last_ = added;
    }
    void drop_first() noexcept {
        delete std::exchange(first_, first_->next);
        if (first_ == nullptr) last_ = nullptr;
    }
    void drop_second() noexcept {
        piece* const second = first_->next;
        first_->next = second->next;
        if (second == last_) last_ = first_;
        delete second;
    }
    void forget() noexcept {
        while (first_ != nullptr) drop_first();
    }
    /// Behind the copies before it, where they are the last piece and have room.
    void copy(std::string_view text) {
        const bool is_lent = lent_ != 0 && first_ == last_;
        if (last_ != nullptr && !is_lent && last_->copied &&
            last_->block.bytes().spare_size() >= text.size()) {
            last_->block.bytes().append(text);
            last_->bytes = {last_->bytes.data(), last_->bytes.size() + text.size()};
            return;
        }
        shared_block own(buffer(text.size() > copied_block ? text.size() : copied_block));
        own.bytes().append(text);
        const std::string_view bytes = own.bytes().view();
        append(new piece(std::move(own), bytes));
        last_->copied = true;
    }

    piece* first_ = nullptr;
    piece* last_ = nullptr;
    std::size_t size_ = 0;
    std::size_t lent_ = 0;
};

}  // namespace coracle::http::h2
