#pragma once

#include <coracle/base/error.hpp>
#include <coracle/runtime/file_operation.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::fs {

/// Reads from `offset` until `into` is full or the file ends: the number of bytes. Blocks for as
/// long as the disk takes. For those that may not call the system.
std::expected<std::size_t, error> read_at(int fd, std::uint64_t offset, std::span<char> into);

/// Reads as `read_at` does, but never waits for the disk: fails with
/// `std::errc::resource_unavailable_try_again` when not all of it is in memory. Where the file
/// system cannot tell, it may wait.
std::expected<std::size_t, error> try_read_at(int fd, std::uint64_t offset, std::span<char> into);

/// A regular file or a directory, open for reading, with what `status` said when it was opened:
/// kind, size, time of the last change, inode and device. For work on the threads of a pool.
/// Closed when destroyed. Move-only; not thread-safe.
class plain_file {
public:
    plain_file() noexcept = default;
    /// Takes over the descriptor number `fd`.
    plain_file(int fd, const file_status& status) noexcept : fd_(fd), status_(status) {}

    bool open() const noexcept { return static_cast<bool>(fd_); }
    int fd() const noexcept { return fd_.get(); }
    const file_status& status() const noexcept { return status_; }

    /// Releases the descriptor: the caller closes it.
    [[nodiscard]] int release() noexcept { return fd_.release(); }

    /// Reads from `offset` until `into` is full or the file ends: the number of bytes. Blocks for
    /// as long as the disk takes.
    std::expected<std::size_t, error> read_at(std::uint64_t offset, std::span<char> into) const {
        return fs::read_at(fd_.get(), offset, into);
    }

    /// Reads as `read_at` does, but never waits for the disk: fails with
    /// `std::errc::resource_unavailable_try_again` when not all of it is in memory. Where the file
    /// system cannot tell, it may wait.
    std::expected<std::size_t, error> try_read_at(std::uint64_t offset,
                                                  std::span<char> into) const {
        return fs::try_read_at(fd_.get(), offset, into);
    }

    /// Returns the current status of the file.
    std::expected<file_status, error> current_status() const;

private:
    owned_fd fd_;
    file_status status_;
};

/// Opens a regular file or a directory for reading. Never blocks on a FIFO, and fails with
/// `no_such_device_or_address` for what is neither. Blocks for as long as the file system takes.
/// Fails as open(2) does, with the path as subject.
std::expected<plain_file, error> open_file(const std::string& path);

/// A directory as the root below which files are opened. It stays the same directory when its path
/// is renamed or replaced. Move-only; may be used from several threads.
class directory {
public:
    /// Fails as open(2) does, with the path as subject.
    static std::expected<directory, error> open(const std::string& path);

    int fd() const noexcept { return fd_.get(); }

private:
    explicit directory(int fd) noexcept : fd_(fd) {}
    owned_fd fd_;
};

/// The means by which `open_beneath` stays below its root.
enum class beneath_method : std::uint8_t {
    automatic,  ///< `kernel` where the kernel has it, else `walk`
    kernel,     ///< openat2(2) with RESOLVE_BENEATH: symbolic links are followed while they stay
                ///< below the root (an absolute one never does)
    walk,       ///< one openat(2) a segment; every symbolic link is refused
};

/// The extent of a lookup: in memory only, or on the disk too.
enum class lookup : std::uint8_t {
    complete,  ///< blocks for as long as that takes
    cached,    ///< only among the names that the kernel remembers: never blocks
};

/// Opens a file or a directory for reading, by a path that cannot lead out of `root`, whatever
/// links are made or moved meanwhile; the empty path is `root` itself. Never blocks on a FIFO.
/// Blocks for as long as the file system takes to look the path up.
///
/// Fails with `std::errc::cross_device_link` when the path is absolute, has a ".." segment or a
/// link that leads out, with `no_such_file_or_directory` when it holds a NUL, with
/// `no_such_device_or_address` when it leads to a FIFO, a device or a socket, with
/// `too_many_symbolic_link_levels` or `not_a_directory` at a link that it does not follow, and as
/// open(2) does. With `lookup::cached` also with `resource_unavailable_try_again`: the kernel would
/// have to ask the disk, or is too old for the question (before 5.12), or `how` is `walk`.
std::expected<plain_file, error> open_beneath(const directory& root, std::string_view path,
                                              beneath_method how = beneath_method::automatic,
                                              lookup where = lookup::complete);

struct directory_entry {
    std::string name;
    file_kind kind = file_kind::regular;
    std::uint64_t size = 0;        ///< bytes; 0 for a directory
    std::int64_t modified_ns = 0;  ///< nanoseconds since 1970, UTC
};

struct directory_entries {
    std::vector<directory_entry> list;  ///< in no order
    bool truncated = false;             ///< there are more than the limit
};

/// Lists the regular files and directories in the directory `path` below `root`, at most `limit` of
/// them: those that `open_beneath` would open. A symbolic link that stays below `root` is listed as
/// its target; FIFOs, devices and sockets are left out. Without `hidden`, names that begin with a
/// dot are left out. Fails as `open_beneath`, and with `not_a_directory`. Blocks.
std::expected<directory_entries, error> read_directory(
    const directory& root, std::string_view path, std::size_t limit, bool hidden,
    beneath_method how = beneath_method::automatic);

}  // namespace coracle::fs
