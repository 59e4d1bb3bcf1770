#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/io/sink.hpp>
#include <coracle/io/source.hpp>
#include <coracle/runtime/detail/child.hpp>
#include <coracle/runtime/operation.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace coracle::io {

/// Options of `copy`.
struct copy_options {
    /// Bytes that are copied at most. Default: all.
    std::uint64_t limit = UINT64_MAX;
    /// Bytes that are held at once; from 1 to 1 GiB. Default 128 KiB.
    std::size_t block = 128 * 1024;
};

/// Copies what `from` gives until its end, or until `limit` bytes are copied, to `to`, and gives
/// their number. The sink is neither flushed nor ended. A file goes to a stream through
/// `byte_stream::send_file` and to a file through copy_file_range(2), and what is received from a
/// socket or pipe of the system to another one by splice(2) through a pipe of its own once 64 KiB
/// have gone, without passing through the program, where the system can do that; elsewhere through
/// one block. What is there at once is copied in portions, between which other tasks run.
///
/// Fails as the source or the sink does; `bytes()` of the error is how many bytes the sink took
/// before. When it fails or is cancelled, one block may have been read that was not written.
operation<std::uint64_t> copy(source& from, sink& to, const copy_options& options = {});

namespace detail {
operation<std::uint64_t> copy(source& from, sink& to, const copy_options& options,
                              unique_function<void(std::uint64_t)> progress);
}

/// Copies as above; `progress(bytes)` is called with the number of bytes copied so far, whenever it
/// has grown.
template <class F>
operation<std::uint64_t> copy(source& from, sink& to, const copy_options& options, F&& progress) {
    CORACLE_REQUIRE_SAFE_IN_AWAIT(F);
    return detail::copy(from, to, options,
                        unique_function<void(std::uint64_t)>(std::forward<F>(progress)));
}

}  // namespace coracle::io
