#pragma once

#include <coracle/base/buffer.hpp>
#include <coracle/base/error.hpp>
#include <coracle/runtime/task.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

namespace coracle::fs {
class file;
}
namespace coracle::net {
class byte_stream;
}

namespace coracle::io {

/// A place in an open file, at which something reads or writes.
struct file_cursor {
    fs::file* file = nullptr;
    std::uint64_t position = 0;  ///< bytes from the beginning
};

/// Something that bytes come out of, in order: a file, a socket, memory, another source. Belongs to
/// one loop; one read at a time.
class source {
public:
    source() noexcept = default;
    source(const source&) = delete;
    source& operator=(const source&) = delete;
    virtual ~source() = default;

    /// Completes when at least one byte is in `into`, which has room for one and lives until then,
    /// and gives their number; 0 at the end. Whether there may be more after an end, as in a file
    /// that grows, is the source's business. Returns errors and throws none. When it is cancelled,
    /// no byte is lost that another read could have had.
    virtual task<std::expected<std::size_t, error>> read_some(std::span<char> into) = 0;

    /// Reads into the spare capacity of a block, which must not be 0, or of a new one with this
    /// `capacity` when `into` has none. A source that may wait long takes the block once there are
    /// bytes. An empty `into` may lose its block.
    virtual task<std::expected<std::size_t, error>> fill(buffer& into, std::size_t capacity);

    /// The file cursor behind this source, so that `copy` can read around it and move the cursor:
    /// null, unless all its bytes are those of a file.
    virtual file_cursor* cursor() noexcept { return nullptr; }
    /// The stream that all its bytes are received from, of which it holds none back: `copy` then
    /// reads around it. Null for all others.
    virtual net::byte_stream* stream() noexcept { return nullptr; }

    /// Lets the next read begin at `position`, bytes from the beginning, which is not after the
    /// end; false where it can only go on, as with a socket. Not while a read is pending.
    virtual bool seek(std::uint64_t position) noexcept {
        file_cursor* const file = cursor();
        if (file == nullptr) return false;
        file->position = position;
        return true;
    }

protected:
    /// The spare capacity that `fill` fills: after the bytes that `into` holds, or in a new block.
    static std::span<char> room_in(buffer& into, std::size_t capacity);

    source(source&&) noexcept = default;
    source& operator=(source&&) noexcept = default;
};

}  // namespace coracle::io
