#pragma once

#include <coracle/fs/watch.hpp>

#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

namespace coracle::fs::detail {

/// Changes to be reported, in the order of each file's first change. Changes of one file within
/// `settle` become one; a file that was created and removed in that time is not reported at all.
class change_queue {
public:
    /// `root` is the path that an overflow names; it keeps at most `most` changes.
    change_queue(std::string root, duration settle, std::size_t most)
        : root_(std::move(root)), settle_(settle), most_(most) {}

    std::size_t size() const noexcept { return entries_.size(); }
    /// `replaces`: another file had the name before this one was created.
    void add(change c, time_point now, bool replaces = false);
    /// Adds the last change of all, which joins none before it.
    void add_last(change c, time_point now);
    /// Drops all changes, because some were lost.
    void overflow(time_point now);
    /// Returns the next change that is due, if any.
    std::optional<change> take(time_point now);
    /// Returns the time at which the next change is due; `time_point::max()` without one.
    time_point next_due() const noexcept {
        return entries_.empty() ? time_point::max() : entries_.front().due;
    }

private:
    struct entry {
        change what;
        time_point due;
        bool was_there = false;  ///< the state before the first of the joined changes
        bool dropped = false;
    };

    void append(change c, time_point due, bool was_there);
    void close(const std::string& path) { open_.erase(path); }
    static bool merge(entry& e, const change& c);

    std::string root_;
    duration settle_;
    std::size_t most_;
    std::deque<entry> entries_;
    std::uint64_t first_ = 0;  ///< the number of the first of `entries_`
    std::unordered_map<std::string, std::uint64_t>
        open_;  ///< maps a path to the entry that later changes join
};

}  // namespace coracle::fs::detail
