#pragma once

#include <coracle/io/source.hpp>
#include <coracle/runtime/backend.hpp>

#include <span>

namespace coracle::io {

/// Something that bytes go into, in order: a file, a socket, memory, another sink. Belongs to one
/// loop; one call at a time. Returns errors and throws none.
class sink {
public:
    sink() noexcept = default;
    sink(const sink&) = delete;
    sink& operator=(const sink&) = delete;
    virtual ~sink() = default;

    /// Completes when all bytes of `pieces` have been taken. They, and the array, which is used up,
    /// live until then. A failed or cancelled one leaves the sink in the midst of them, and what
    /// has become of the rest is not known.
    virtual task<std::expected<void, error>> write(std::span<slice> pieces) = 0;

    /// Sends on what it holds back for the sake of size. Not a promise that it is on a disk.
    virtual task<std::expected<void, error>> flush();

    /// Writes what belongs to the end (the trailer of a coding) and flushes. Nothing is written
    /// after it. An adapter does not finish the sink below it: that is for the owner of the sink.
    virtual task<std::expected<void, error>> finish();

    /// The file cursor behind this sink, so that `copy` can write around it: null, unless all bytes
    /// go into a file at this cursor. (`stream` does the same for streams.)
    virtual file_cursor* cursor() noexcept { return nullptr; }
    virtual net::byte_stream* stream() noexcept { return nullptr; }

protected:
    sink(sink&&) noexcept = default;
    sink& operator=(sink&&) noexcept = default;
};

}  // namespace coracle::io
