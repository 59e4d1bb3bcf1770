#pragma once

#include <coracle/fs/file_call.hpp>
#include <coracle/fs/open_flags.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace coracle::fs {

class open_operation;
class close_operation;

/// A part of a file: `size` bytes from `offset` on; to locks, size 0 is all that follows.
struct byte_range {
    std::uint64_t offset = 0;
    std::uint64_t size = 0;
};

enum class lock_kind : std::uint8_t {
    shared,     ///< others may have it shared too; the file must be open for reading
    exclusive,  ///< no other lock is held; the file must be open for writing
};

enum class allocation : std::uint8_t {
    grow,        ///< room on the disk; the file grows to hold the range, and reads as zeros
    keep_size,   ///< reserves space on the disk, also after the end, which stays
    punch_hole,  ///< gives the room of the range back; it reads as zeros, the end stays
};

/// An open file, read and written by position, so several operations may be under way at once.
///
/// Everything is awaited and resumes from the loop: it runs in io_uring where the backend has that,
/// and otherwise on the runtime's pool, but for reads of what the page cache has. Buffers, and the
/// file, must live until the operation has completed; the file may be moved. It belongs to no loop
/// and is used on one at a time. Closed when destroyed; errors that only `close` reports are lost
/// then.
///
/// Errors name the operation and the path it was opened by, and say how many bytes were moved.
/// Positions and sizes beyond INT64_MAX fail with `invalid_argument`; where no thread of the pool
/// can be started, all but closing fails with `not_enough_memory`. Cancelling withdraws a call that
/// has not begun, and otherwise waits for its end: what was done counts, and how much of a write
/// was done is unknown.
class file {
public:
    file() noexcept = default;
    file(file&& other) noexcept = default;
    file& operator=(file&& other) noexcept;
    ~file() { discard(); }

    /// Takes over the descriptor number `fd`; `path` is what errors will call it.
    static file adopt(int fd, std::string path = {});

    bool is_open() const noexcept { return static_cast<bool>(fd_); }
    explicit operator bool() const noexcept { return is_open(); }
    /// The number, which stays ours.
    int fd() const noexcept { return fd_.get(); }
    /// Releases the descriptor: the caller closes it.
    [[nodiscard]] int release() noexcept { return fd_.release(); }
    /// The path that it was opened by, or was given.
    std::string_view path() const noexcept { return path_ ? *path_ : std::string_view(); }

    /// Reads once from `offset`: the number of bytes, at most `most_bytes_a_call`; fewer than
    /// `into` has room for also when no more is at hand. 0: the end of the file.
    byte_operation read_at(std::uint64_t offset, std::span<char> into) const noexcept;
    /// Reads as `read_at` does, into several buffers, one after the other. The array must live too.
    byte_operation readv_at(std::uint64_t offset,
                            std::span<const std::span<char>> into) const noexcept;
    /// Reads until `into` is full. Fails with `errc::unexpected_end` when the file ends before.
    plain_operation read_exactly_at(std::uint64_t offset, std::span<char> into) const noexcept;

    /// Writes all of `bytes` at `offset`, in as many calls as it takes. When it fails, part of them
    /// may have been written: `error::bytes` has the number.
    plain_operation write_at(std::uint64_t offset, std::string_view bytes) const noexcept;
    /// Writes as `write_at` does, from several buffers. The array must live too, and stays as it
    /// is.
    plain_operation writev_at(std::uint64_t offset, std::span<const slice> bytes) const noexcept;
    /// Writes all of `bytes` after the end of a file that was opened with `append`. Bytes that fit
    /// into one call are not mixed with what others append.
    plain_operation append(std::string_view bytes) const noexcept;

    /// Completes when all that was written is on the disk (fsync). After an error the content on
    /// the disk is unknown: write again.
    plain_operation sync() const noexcept;
    /// Waits as `sync` does, without the times of the file (fdatasync).
    plain_operation sync_data() const noexcept;

    /// Cuts the file at `size`, or makes it grow, by zeros that take no room.
    plain_operation truncate(std::uint64_t size) const noexcept;
    /// Takes or gives back room on the disk, so that a write into the range does not find it full.
    /// Fails with `invalid_argument` where the range has no size.
    plain_operation allocate(byte_range range, allocation how = allocation::grow) const noexcept;

    /// Returns the current status of the file.
    status_operation status() const noexcept;
    plain_operation set_mode(unsigned mode) const noexcept;
    /// Nanoseconds since 1970, UTC.
    plain_operation set_times(std::int64_t accessed_ns, std::int64_t modified_ns) const noexcept;

    /// Locks a range, against others that lock: in this process too, where they have opened the
    /// file themselves (open file description locks). Waits by trying again and again, after 1 ms
    /// at first and 64 ms in the end, so there is no queue. `unlock` and closing release it. A lock
    /// that is held already is changed into the other kind.
    operation<void> lock(lock_kind kind, byte_range range = {}) const;
    /// Locks without waiting; gives false when another holds the lock.
    operation<bool> try_lock(lock_kind kind, byte_range range = {}) const;
    plain_operation unlock(byte_range range = {}) const noexcept;

    /// Closes, and reports what could not be written before (ENOSPC, EDQUOT, EIO on network file
    /// systems). It is closed in any case; one that has begun is not cancelled. The file must not
    /// be moved until then.
    close_operation close() noexcept;

private:
    friend class open_operation;
    friend class close_operation;
    file(int fd, std::shared_ptr<const std::string> path, bool direct) noexcept
        : fd_(fd), path_(std::move(path)), direct_(direct) {}

    template <class Operation>
    Operation on(file_action a, const char* verb) const noexcept;
    void discard() noexcept;

    owned_fd fd_;
    std::shared_ptr<const std::string> path_;
    bool direct_ = false;  ///< past the page cache: each read waits for the disk
};

/// The awaitable returned by `open`.
class [[nodiscard]] open_operation final : public detail::file_call {
public:
    open_operation(int from, std::string text, open_flags how, unsigned permissions);
    open_operation(open_operation&& other) noexcept = default;
    ~open_operation();

    file await_resume() { return detail::value_or_throw<open_operation, file>(*this); }
    std::expected<file, error> outcome();

private:
    bool prepare() noexcept override;
    std::string subject() const override { return path_; }

    std::string path_;
    bool asked_ = false;
};

/// The awaitable returned by `close`.
class [[nodiscard]] close_operation final : public detail::file_call {
public:
    explicit close_operation(file& f) noexcept
        : file_call(file_action::close, "close", f.path()), file_(&f) {}

    void cancel() noexcept override {}
    void await_resume() { detail::value_or_throw<close_operation, void>(*this); }
    std::expected<void, error> outcome();

private:
    bool prepare() noexcept override;

    file* file_;
};

/// Opens a file or a directory. `mode` is what a new file permits, less the umask of the process.
/// Never waits for the other end of a FIFO (O_NONBLOCK), and nothing that it opens is left open for
/// child processes (O_CLOEXEC). Fails as open(2) does, with the path as subject. Cancelling leaves
/// nothing open; a file that was made stays.
open_operation open(std::string path, open_flags flags = read_only, unsigned mode = 0666);

/// Opens a file by a path relative to `directory`, which must live until then, and which may have
/// been renamed since it was opened. An absolute path ignores `directory`.
open_operation open_at(const file& directory, std::string path, open_flags flags = read_only,
                       unsigned mode = 0666);

}  // namespace coracle::fs
