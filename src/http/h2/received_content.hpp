#pragma once

#include <coracle/base/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::http::h2 {

/// A block of received bytes of which several streams may hold parts: it lives as long as one of
/// its handles. Not thread-safe.
class shared_block {
public:
    shared_block() noexcept = default;
    /// Takes over the block; views into it stay valid. Throws std::bad_alloc.
    explicit shared_block(buffer bytes) : held_(new held{std::move(bytes), 1}) {}
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
    struct held {
        buffer bytes;
        std::uint32_t handles;
    };
    held* held_ = nullptr;
};

/// The content of a stream that was received and not read yet: parts of the blocks that it came
/// in, without a copy, but for those that would keep a block of which most is not theirs.
class received_content {
public:
    /// Adds a piece, which is not empty and lies in `block`. Throws std::bad_alloc.
    void add(std::string_view piece, const shared_block& block) {
        if (piece.size() * largest_share >= block.capacity()) {
            pieces_.push_back({block, piece});
        } else {
            copy(piece);
        }
        size_ += piece.size();
    }

    [[nodiscard]] bool empty() const noexcept { return size_ == 0; }
    /// Bytes that were added and not given.
    [[nodiscard]] std::size_t size() const noexcept { return size_; }
    /// All of it is one piece.
    [[nodiscard]] bool is_one_piece() const noexcept { return pieces_.size() == next_ + 1; }
    /// Bytes of the piece that was given last.
    [[nodiscard]] std::size_t lent() const noexcept { return lent_; }

    /// Returns the next piece; there is one. Valid until `done`.
    std::string_view next() noexcept {
        const std::string_view piece = pieces_[next_].bytes;
        lent_ = piece.size();
        size_ -= lent_;
        return piece;
    }
    /// The piece that was given last is not needed any more: gives its bytes.
    std::size_t done() noexcept {
        const std::size_t n = std::exchange(lent_, 0);
        if (n == 0) return 0;
        if (pieces_[next_].bytes.data() == copies_) copies_ = nullptr;
        pieces_[next_] = {};
        if (++next_ == pieces_.size()) forget();
        return n;
    }
    /// Drops all that is there, and gives its bytes, those of the last piece among them.
    std::size_t clear() noexcept {
        const std::size_t n = size_ + lent_;
        forget();
        size_ = lent_ = 0;
        return n;
    }

private:
    /// A piece keeps at most so many times its size.
    static constexpr std::size_t largest_share = 4;
    static constexpr std::size_t copied_block = 4096;

    struct part {
        shared_block block;
        std::string_view bytes;
    };

    void forget() noexcept {
        pieces_.clear();
        next_ = 0;
        copies_ = nullptr;
    }
    /// Behind the copies before it, where they are the last piece and have room.
    void copy(std::string_view text) {
        const bool follows = pieces_.size() > next_ + (lent_ != 0 ? 1U : 0U) && ends_in_copies();
        if (follows && pieces_.back().block.bytes().spare_size() >= text.size()) {
            pieces_.back().block.bytes().append(text);
            const std::string_view before = pieces_.back().bytes;
            pieces_.back().bytes = {before.data(), before.size() + text.size()};
            return;
        }
        shared_block own(buffer(text.size() > copied_block ? text.size() : copied_block));
        own.bytes().append(text);
        const std::string_view bytes = own.bytes().view();
        copies_ = bytes.data();
        pieces_.push_back({std::move(own), bytes});
    }
    [[nodiscard]] bool ends_in_copies() const noexcept {
        return pieces_.back().bytes.data() == copies_;
    }

    std::vector<part> pieces_;
    std::size_t next_ = 0;
    std::size_t size_ = 0;
    std::size_t lent_ = 0;
    const char* copies_ = nullptr;  ///< where the last copied piece begins
};

}  // namespace coracle::http::h2
