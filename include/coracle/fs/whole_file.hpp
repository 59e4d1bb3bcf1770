#pragma once

#include <coracle/runtime/operation.hpp>

#include <cstddef>
#include <string>

namespace coracle::fs {

/// The most bytes that `read_text` takes from a file by default. 64 MiB.
inline constexpr std::size_t default_text_limit = 64 * 1024 * 1024;

/// The content of a file, any bytes. It is read until its end, whatever size it says: what it has
/// lost meanwhile is not there, what was added is, and files of /proc, which say 0, are read whole.
/// Fails with `errc::limit_exceeded` when there is more than `limit`. Resumes from the loop.
operation<std::string> read_text(std::string path, std::size_t limit = default_text_limit);

/// Makes `text` the content of a file: made with `mode`, less the umask, when there is none, else
/// emptied first. "Done" means that others see it; it is on the disk when the system finds time.
/// Failed or cancelled, the file may have some of it: to have the old or the new content in any
/// case, take `replace_text`.
operation<void> write_text(std::string path, std::string text, unsigned mode = 0666);

/// Adds `text` at the end of a file, made with `mode` when there is none. Up to
/// `most_bytes_a_call` it is not mixed with what others append.
operation<void> append_text(std::string path, std::string text, unsigned mode = 0666);

struct replace_options {
    /// The permissions of a new file, less the umask. Default 0666.
    unsigned mode = 0666;
    /// Completes when the new content is on the disk, and survives a crash of the system from then
    /// on; before, the old one does. Without it a crash may leave an empty file. Default true.
    bool durable = true;
};

/// Replaces the content of a file atomically: a reader that opens it sees the old or the new
/// content, never a mixture, whatever happens meanwhile. The text is written to a file of another
/// name in the same directory (".name.<random>.tmp"), synced, and renamed; the directory is synced.
/// Keeps the permissions of the old file, and its group where that is allowed, not its owner nor
/// its other names; set-id bits only where the owner and the group are the same. Where the group is
/// another, or the old file had an access list, the group may do no more than others. A symbolic
/// link stays, what it leads to is replaced.
///
/// Failed or cancelled before the rename, the old content is there and the other name is removed;
/// only a crash leaves it. Fails with `is_a_directory` when the path leads to a directory, and with
/// `invalid_argument` when to something else that is no regular file.
operation<void> replace_text(std::string path, std::string text, replace_options options = {});

}  // namespace coracle::fs
