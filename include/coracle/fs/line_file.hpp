#pragma once

#include <coracle/base/log.hpp>
#include <coracle/runtime/clock.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace coracle::fs {

struct line_file_options {
    /// Bytes of lines that each thread may have waiting for the disk, rounded up to a power of two
    /// from 1 KiB to 64 MiB. Default 256 KiB. What does not fit is dropped and counted.
    std::size_t buffer = 256 * 1024;
    /// The longest time that a line waits for others to share its write. Default 200 ms.
    duration flush_after = std::chrono::milliseconds(200);
    /// Gets an error when the file cannot be written or opened again; must outlive the file.
    /// Default: standard error, as any `logger`.
    logger* log = nullptr;
};

/// Counts since the start.
struct line_file_counters {
    std::uint64_t lines = 0;    ///< taken
    std::uint64_t dropped = 0;  ///< found no room, or could not be written
    std::uint64_t bytes = 0;    ///< written
    std::uint64_t errors = 0;   ///< writes and openings that failed
    std::uint64_t reopened = 0;
};

namespace detail {
class line_writer;
}

/// Appends lines to a file, or to standard output, without ever blocking the caller: each thread
/// has a buffer of its own, which a thread of the file writes. Lines of one thread stay in their
/// order; those of several may come up to `flush_after` out of it. Safe from any thread.
///
/// One that is made in a task of a simulation writes to the simulated disk, after `flush_after` of
/// virtual time, in no time; it and its lines belong to the thread of the simulation.
class line_file {
public:
    /// Appends to the file `path`, which is made with mode 0640 when it is not there; empty or "-"
    /// is standard output. Throws `exception` when it cannot be opened, a FIFO that has no reader
    /// included.
    explicit line_file(std::string path, line_file_options options = {});
    /// Writes the lines that wait. No thread may be inside `add`. A pipe without a reader is given
    /// a second.
    ~line_file();
    line_file(const line_file&) = delete;
    line_file& operator=(const line_file&) = delete;

    /// Takes a line, with its line feed. Returns false if it was dropped, for want of room. Never
    /// waits and takes no lock; a thread's first line allocates its buffer.
    bool add(std::string_view line) noexcept;

    /// Opens `path` again, soon: for a file that was renamed, to go on in a new one. Lines added
    /// before go to the old file. Where it cannot be opened the old one stays. Does not wait.
    void reopen() noexcept;

    /// Waits until all that was added before, and a `reopen`, have been seen to. Returns false if
    /// `most` has passed first, without limit by default: a pipe may take nothing for ever. Blocks:
    /// not on the thread of a loop.
    bool flush(duration most = duration::max());

    line_file_counters counters() const noexcept;

private:
    std::unique_ptr<detail::line_writer> writer_;
};

}  // namespace coracle::fs
