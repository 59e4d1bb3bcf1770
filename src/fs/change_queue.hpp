#pragma once

#include <coracle/fs/watch.hpp>

#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>

namespace coracle::fs::detail {

/// Changes that wait to be told, in the order in which each file's first came. Those of one file
/// within `settle` become one: what was made and removed in that time is not told at all.
class change_queue {
public:
    /// `root` is what an overflow is told of; it keeps at most `most`.
    change_queue(std::string root, duration settle, std::size_t most) noexcept
        : root_(std::move(root)), settle_(settle), most_(most) {}

    std::size_t size() const noexcept { return entries_.size(); }
    void add(change c, time_point now);
    /// Drops all that waits: it is not the whole truth.
    void overflow(time_point now);
    /// The next one that is due, if one is.
    std::optional<change> take(time_point now);
    /// When the next one is due; never: `time_point::max()`.
    time_point next_due() const noexcept {
        return entries_.empty() ? time_point::max() : entries_.front().due;
    }

private:
    struct entry {
        change what;
        time_point due;
        bool was_there = false;  ///< before the first of what became this
        bool dropped = false;
    };

    void append(change c, time_point due);
    void close(const std::string& path) { open_.erase(path); }
    static bool merge(entry& e, const change& c);

    std::string root_;
    duration settle_;
    std::size_t most_;
    std::deque<entry> entries_;
    std::uint64_t first_ = 0;  ///< the number of the first of `entries_`
    std::unordered_map<std::string, std::uint64_t> open_;  ///< path to the entry that takes more
};

}  // namespace coracle::fs::detail
