#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/file_operation.hpp>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace coracle::fs {

/// A name that a walk has come by.
struct entry {
    std::string path;                         ///< the path given to `walk`, and the names below
    std::size_t name_at = 0;                  ///< where in it the name begins
    file_kind kind = file_kind::unknown;      ///< of a link that is followed: of what it leads to
    bool link = false;                        ///< a symbolic link
    unsigned depth = 0;                       ///< directories between it and the path of the walk
    std::uint64_t inode = 0;                  ///< of the name itself
    std::optional<coracle::error> problem{};  ///< why its content, or it, could not be looked at

    std::string_view name() const noexcept { return std::string_view(path).substr(name_at); }
    bool is_directory() const noexcept { return kind == file_kind::directory; }
    bool is_regular() const noexcept { return kind == file_kind::regular; }
};

struct walk_options {
    /// Chooses the directories to enter; called once for each. A refused directory is reported all
    /// the same. Default: all.
    unique_function<bool(const entry&)> enter{};
    /// Enters directories that symbolic links lead to. Default: links are reported, not followed.
    bool follow = false;
    /// Directories below this depth are not entered; 0: none is. Default: no limit of this kind.
    unsigned depth = UINT_MAX;
    /// The most levels; each is an open descriptor and 32 KiB. Deeper directories are reported with
    /// the problem `errc::limit_exceeded`. Default 256.
    unsigned levels = 256;
};

/// Returns the entries of a directory, and of the directories therein, each before its content,
/// otherwise in no order:
///
///     auto all = fs::walk("/etc");
///     while (auto e = co_await all.next()) use(*e);
///
/// Goes down by descriptors: a directory that is renamed or swapped for a link meanwhile leads
/// nowhere else. A name that comes or goes meanwhile may be reported or not; no other is lost or
/// reported twice. Memory is bounded by the depth, however many entries there are.
///
/// A step throws when `path` itself cannot be opened. Any other failure is reported with its entry,
/// as `entry::problem`, and the walk goes on: a directory that may not be read or has vanished, a
/// link back to a directory that the walk is in (`too_many_symbolic_link_levels`, with `follow`). A
/// directory that fails while it is read is reported once more, with the problem.
async_generator<entry> walk(std::string path, walk_options options = {});

/// Returns the entries of one directory: a walk that enters none.
async_generator<entry> list(std::string path);

}  // namespace coracle::fs
