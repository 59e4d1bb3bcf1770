#pragma once

#include <coracle/base/unique_function.hpp>
#include <coracle/runtime/async_generator.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle::fs {

enum class change_kind : std::uint8_t {
    created,     ///< a name is there: made, or moved here from where nobody watches
    removed,     ///< a name is gone: deleted, or moved to where nobody watches
    modified,    ///< the content of a file
    moved,       ///< a name has become another one, both watched
    attributes,  ///< permissions, owner, times, links
    unmounted,   ///< the file system that it was on
    overflow,  ///< the system, or `max_pending`, dropped changes: look anew at all that is watched
};

std::string_view to_string(change_kind k) noexcept;

/// Something that happened to a file or a directory.
struct change {
    change_kind kind = change_kind::created;
    bool is_directory = false;
    std::string path;  ///< begins as the path that is watched; of `moved`, the new name
    std::string from;  ///< of `moved`: the old name

    friend bool operator==(const change&, const change&) = default;
};

/// What to watch, and how. Not an aggregate on purpose: give it a name before awaiting.
struct watch_options {
    /// Directories below the one that is watched too, and those that are made later. Symbolic links
    /// are not followed.
    bool recursive = false;
    /// A file counts as modified when whoever wrote to it closes it, not with each write.
    bool whole_writes = false;
    /// All that happens to one file within this time, from the first on, becomes one change; so a
    /// change is told this late. 0: each is told at once, as the system has it.
    duration settle = std::chrono::milliseconds(50);
    /// Only these changes, as bits 1 << change_kind. Overflow and unmounting are always told.
    unsigned kinds = ~0u;
    /// False: not told, and of a directory, not watched. Empty: all. May be called on a thread of
    /// the offload pool, never by two at once.
    unique_function<bool(std::string_view path, bool is_directory)> filter;
    /// Directories that are watched at most; more give `errc::limit_exceeded`.
    std::size_t max_watches = 65'536;
    /// Changes that wait to be told at most; with more, all give way to one `overflow`.
    std::size_t max_pending = 65'536;

    watch_options() = default;
};

/// Watches a directory, or a file by its name, which need not be there yet and may be replaced, and
/// gives what changes:
///
///     auto changes = co_await fs::watch("etc");
///     while (auto c = co_await changes.next()) use(*c);
///
/// Completes when it is watched: nothing that happens from then on is missed, but for what
/// `overflow` tells. The sequence ends after `removed` when the directory itself is deleted or
/// moved away, and after `unmounted`. A step throws when a new directory cannot be watched:
/// `errc::limit_exceeded` (max_watches), ENOSPC (fs.inotify.max_user_watches); it has then ended.
/// Fails with what the system says of the path. Cancelling it, or dropping the sequence, leaves
/// nothing open.
///
/// A directory that appears (recursive) is read once it is watched, so what was made in it before
/// is told as `created`, and may be told twice; what came and went before that is not told. Changes
/// that other hosts make on a network file system are not seen, nor are those through a mapping.
operation<async_generator<change>> watch(std::string path, watch_options options = {});

}  // namespace coracle::fs
