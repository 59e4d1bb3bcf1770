#pragma once

#include <coracle/runtime/file_operation.hpp>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::testing {

namespace detail {
class file_tree;
}  // namespace detail

/// Options of a simulated disk.
struct disk_options {
    /// Bytes of all files, in pages of 4 KiB, beyond which a write is short and then fails with
    /// ENOSPC. Default 1 GiB.
    std::uint64_t capacity = 1024 * 1024 * 1024;
    /// Programs run as the superuser, whom no permissions hold back. Default false: as the owner of
    /// all files.
    bool privileged = false;
    /// Permissions that a new file does not get (umask(2)). Default 022.
    std::uint32_t umask = 022;
};

/// The files of a simulated world: a tree of directories, files and symlinks in memory, which the
/// calls of `coracle::fs` find when they run in a `simulation`, with the results and errors of
/// Linux. In the beginning there are / and /tmp; relative paths start at /.
///
/// It outlives simulations, so that a service can be started once more over what an earlier run, or
/// a crash, has left (`simulation_options::disk`). One simulation at a time, on its thread.
///
/// A crash keeps at least:
/// - of a file that was synced, its bytes, size and permissions as they were then (with the data
///   alone, all but permissions and times);
/// - of a directory that was synced, its names as they were then. Syncing a file says nothing of
///   its name: POSIX does not promise it, though most of Linux's file systems do.
///
/// All that came later has or has not reached the disk, as the seed of the crash has it: each page
/// of 4 KiB by itself, in old, new, or any version between, or torn at sectors of 512 bytes; sizes
/// apart from pages, so that a file may end in zeros; changes of names in the order in which their
/// directory saw them, as a journal writes them, so that those that are lost are the last. A rename
/// has happened or has not, also between two directories.
class simulated_disk {
public:
    explicit simulated_disk(const disk_options& options = {});
    simulated_disk(simulated_disk&&) noexcept;
    simulated_disk& operator=(simulated_disk&&) noexcept;
    ~simulated_disk();

    // Functions for tests, to prepare files and to look at them. They throw `exception` with the
    // error of Linux on failure, follow symlinks, and take no time: each is dated 1 ns after the
    // last operation on the disk, or 1970 on a new one. Their changes are on the disk at once, with
    // all earlier ones in the directories on the path.

    /// Makes a file with this content, and the directories that are missing, or replaces what it
    /// holds.
    void write(std::string_view path, std::string_view content);
    /// Makes a directory, and those that are missing.
    void make_directory(std::string_view path);
    /// Removes a file, or a directory with all below it; does nothing if there is none.
    void remove(std::string_view path);
    /// The content of a file, as programs see it.
    std::string read(std::string_view path) const;
    /// Returns true if the name exists; a symlink counts when its target exists.
    bool exists(std::string_view path) const;
    /// Returns the status as fs::status gives it; nothing when there is no such file.
    std::optional<file_status> status(std::string_view path) const;
    /// Returns the status of a symlink itself; the other functions follow it.
    std::optional<file_status> link_status(std::string_view path) const;
    /// The names in a directory, sorted.
    std::vector<std::string> list(std::string_view directory) const;
    /// Bytes that its files take, in pages.
    std::uint64_t used() const noexcept;

    // Faults, besides the rates of `fault_options`.

    /// Changes `disk_options::capacity`.
    void limit(std::uint64_t capacity) noexcept;
    /// Makes operations on this path, from the root and without symlinks, fail with `number`. Open
    /// files are not affected.
    void refuse(std::string_view path, int number = EACCES);
    /// Ends what `refuse` began.
    void allow(std::string_view path);
    /// Lets `operations` more operations happen; those after them fail with EIO, until the crash.
    /// So a test can crash at each moment of a run in turn.
    void cut_power_after(std::uint64_t operations) noexcept;
    /// Operations that have happened on it.
    std::uint64_t operations() const noexcept;

    /// The machine loses its power: what was not synced is on the disk or not, by `seed`. What is
    /// open fails with EIO from now on, in a simulation that goes on as well.
    void crash(std::uint64_t seed);
    /// Writes everything to the disk, as when the machine is turned off properly.
    void sync();

    detail::file_tree& tree() noexcept { return *tree_; }

private:
    std::unique_ptr<detail::file_tree> tree_;
};

}  // namespace coracle::testing
