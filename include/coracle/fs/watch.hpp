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
    created,     ///< a name is there: made, or moved here from outside of the watch
    removed,     ///< a name is gone: deleted, or moved out of the watch
    modified,    ///< the content of a file
    moved,       ///< a name has become another one, both watched
    attributes,  ///< permissions, owner, times, links
    unmounted,   ///< the file system that it was on
    overflow,  ///< the system, or `max_pending`, dropped changes: look anew at all that is watched
    // Reported only where `watch_options::kinds` requests it, for files alone, each by itself.
    opened,
    accessed,       ///< read
    closed_write,   ///< by a program that could write to it
    closed_nowrite  ///< by one that could not
};

/// A kind, and kinds together, as `watch_options::kinds` has them.
constexpr unsigned bit_of(change_kind k) noexcept {
    return 1u << static_cast<unsigned>(k);
}

std::string_view to_string(change_kind k) noexcept;

/// Something that happened to a file or a directory.
struct change {
    change_kind kind = change_kind::created;
    bool is_directory = false;
    std::string path;  ///< begins as the path that is watched; of `moved`, the new name
    std::string from;  ///< of `moved`: the old name

    friend bool operator==(const change&, const change&) = default;
};

/// Options of a watch. Not an aggregate on purpose: give it a name before awaiting.
struct watch_options {
    /// Directories below the one that is watched too, and those that are made later. Symbolic links
    /// below it are not followed.
    bool recursive = false;
    /// Reports a modification when the writer closes the file, not with each write.
    bool whole_writes = false;
    /// The time within which all changes of one file become one, from the first on; so a change is
    /// reported this late. 0: each is reported at once, as the system has it.
    duration settle = std::chrono::milliseconds(50);
    /// Reports only these kinds, as bits (`bit_of`). Overflow and unmounting are always reported.
    /// Default: every change, but no opening, reading and closing.
    unsigned kinds = bit_of(change_kind::opened) - 1;
    /// Fails with ENOENT when there is nothing at the path; without, and if not `recursive`, a file
    /// may be made there later.
    bool must_exist = false;
    /// Returns false for a path that is not to be reported or, if it is a directory, watched.
    /// Empty: all are. May be called on a thread of the offload pool, never by two at once.
    unique_function<bool(std::string_view path, bool is_directory)> filter;
    /// Directories that are watched at most; more give `errc::limit_exceeded`.
    std::size_t max_watches = 65'536;
    /// The most changes that wait to be reported; beyond that, all give way to one `overflow`.
    std::size_t max_pending = 65'536;

    watch_options() = default;
};

/// Watches a directory, or a file by its name, which need not be there yet and may be replaced, and
/// gives what changes:
///
///     auto changes = co_await fs::watch("etc");
///     while (auto c = co_await changes.next()) use(*c);
///
/// Symbolic links that the path itself leads through, its last name included, are followed, and
/// found anew when one of them changes: `created` of the path says that it leads to something else
/// now, and that all there is to be looked at anew; `removed` that it leads nowhere at present.
///
/// Completes when it is watched: nothing that happens from then on is missed, but for what
/// `overflow` tells. The sequence ends after `removed` when the directory itself is deleted or
/// moved away and no link leads to it, and after `unmounted` of its file system; nothing is
/// reported after these. A step throws when a new directory cannot be watched:
/// `errc::limit_exceeded` (max_watches), ENOSPC (fs.inotify.max_user_watches); it has then ended.
/// Fails with what the system says of the path. Cancelling it, or dropping the sequence, leaves
/// nothing open.
///
/// A directory that appears (recursive) is read once it is watched, so what was made in it before
/// is reported as `created`, perhaps twice; what came and went before that is not reported. Changes
/// that other hosts make on a network file system are not seen, nor are those through a mapping.
operation<async_generator<change>> watch(std::string path, watch_options options = {});

}  // namespace coracle::fs
