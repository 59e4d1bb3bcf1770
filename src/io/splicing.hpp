#pragma once

#include <coracle/net/byte_stream.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>

namespace coracle::io {

class sink;

/// Moves bytes from stream to stream within the kernel, through a pipe of its own, which is empty
/// between two calls.
class splicing {
public:
    /// Returns true if the kernel can move bytes between these two, either of which may be null.
    static bool suits(const net::byte_stream* from, const net::byte_stream* to) noexcept {
        return from != nullptr && to != nullptr && from->can_splice() && to->can_splice();
    }

    /// Makes the pipe, for about `capacity` bytes. Returns false when that fails.
    bool open(std::size_t capacity) noexcept;
    bool is_open() const noexcept { return writer_.get() >= 0; }
    void close() noexcept;

    /// Completes when at least one byte and at most `most` have gone from `from` into the pipe, and
    /// returns their number; 0: the next bytes, or the end, must be received instead. Cancelling it
    /// loses nothing.
    task<std::expected<std::uint64_t, error>> take(net::byte_stream& from, std::uint64_t most);

    /// Completes when `to` has taken all that the pipe holds. Where the system refuses, `around`
    /// takes them from memory, and `take` is not called any more.
    task<std::expected<void, error>> give(net::byte_stream& to, sink& around);
    /// Returns how many of the bytes taken have not been given: none, unless giving has failed.
    std::uint64_t held() const noexcept { return static_cast<std::uint64_t>(held_); }

    /// Returns true if `e` means that the system cannot splice here, and no byte was lost.
    static bool is_refusal(const error& e) noexcept;

private:
    task<std::expected<void, error>> write_from_memory(sink& to);

    owned_fd reader_;
    owned_fd writer_;
    std::int64_t held_ = 0;  ///< bytes that were taken and not given
};

}  // namespace coracle::io
