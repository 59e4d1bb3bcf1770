#pragma once

#include <coracle/fs/file.hpp>

#include <cstdint>
#include <string>

/// Operations on the names of files. All are awaited and resume from the loop; paths are copied;
/// errors name the operation and the path. Those with `_at` take a path relative to an open
/// directory, which must live until then: it cannot be swapped for another meanwhile.
namespace coracle::fs {

/// Fails with `file_exists` when there is anything by that name.
plain_operation make_directory(std::string path, unsigned mode = 0777);
plain_operation make_directory_at(const file& directory, std::string path, unsigned mode = 0777);

/// Makes a directory and those above it that are missing; nothing when it is there already. Those
/// above it get `mode`, too. Cancelled or failed, some may have been made.
operation<void> make_directories(std::string path, unsigned mode = 0777);

/// Removes a name that is no directory's: of a file, whose content goes with its last name and the
/// last descriptor, or a symbolic link itself.
plain_operation remove(std::string path);
plain_operation remove_at(const file& directory, std::string path);

/// Removes an empty directory.
plain_operation remove_directory(std::string path);

/// The most levels that `remove_all` enters: each is an open descriptor.
inline constexpr unsigned most_levels_removed = 256;

/// Removes a file, or a directory with all that is in it: the number of names that are gone, 0 when
/// there was none. Symbolic links are removed, never followed; it goes down by descriptors, so a
/// directory that is swapped for a link meanwhile leads nowhere else. What others add while it runs
/// is removed too, or it fails with `directory_not_empty`. Fails with `errc::limit_exceeded` below
/// `most_levels_removed`, and with `invalid_argument` for "/" and for paths that end in "." or
/// "..". Cancelled or failed, some are gone.
operation<std::uint64_t> remove_all(std::string path);

enum class renaming : std::uint8_t {
    replace,     ///< what has the name already is replaced, with nothing in between to see
    no_replace,  ///< fails with `file_exists`; EINVAL on file systems that cannot (NFS)
    exchange,    ///< both must be there, and change names
};

/// Within one file system; else it fails with `cross_device_link`.
plain_operation rename(std::string from, std::string to, renaming how = renaming::replace);

/// Adds another name (a hard link) for a file. Does not follow a symbolic link.
plain_operation link(std::string existing, std::string name);

/// Makes a symbolic link that says `target`, which need not exist and is seen from the link's
/// directory.
plain_operation symlink(std::string target, std::string name);

/// Returns the target of a symbolic link. Fails with `invalid_argument` when the path is none.
operation<std::string> read_link(std::string path);

/// Returns the status of a file; of the target, for a symbolic link.
status_operation status(std::string path);
/// Returns the status of a symbolic link itself.
status_operation link_status(std::string path);
status_operation link_status_at(const file& directory, std::string path);

/// Returns true if a path leads to anything. Fails when that cannot be known, as for want of
/// permission.
operation<bool> exists(std::string path);

/// The permissions of what the path leads to, such as 0644.
plain_operation set_mode(std::string path, unsigned mode);

/// Nanoseconds since 1970, UTC.
plain_operation set_times(std::string path, std::int64_t accessed_ns, std::int64_t modified_ns);

/// Completes when the names that were made, changed or removed in a directory are on the disk.
operation<void> sync_directory(std::string path);

}  // namespace coracle::fs
