#pragma once

#include <sys/inotify.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::fs::detail {

/// Returns true for errors of a name that was removed or replaced since its event, or that may not
/// be read.
bool is_passed_over(int number) noexcept;

/// The symbolic links that a path leads through, and its end behind them, each watched in the
/// directory that it is in. A path that never had links has none.
class link_watch {
public:
    enum class hit : std::uint8_t { none, link, end };
    /// The events after which a name is another file's, or nobody's.
    static constexpr std::uint32_t of_names = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO;

    /// Finds where `path` leads and watches that. What changes meanwhile is found, or makes an
    /// event. `end_events` is asked for of the directory that the end is in, besides those of
    /// names. Returns the numbers of the watches that it used until now and does not use any more;
    /// ENOSPC where the user's share of watches is used up. A directory that may not be read is
    /// passed over. Blocks.
    std::expected<std::vector<int>, int> follow(int inotify, const std::string& path,
                                                std::uint32_t end_events);

    bool any() const noexcept { return !marks_.empty(); }
    /// Returns true if `follow` used the watch of this number.
    bool uses(int number) const noexcept;
    /// Returns the meaning of a name in the directory with the watch of this number.
    hit find(int number, std::string_view name) const noexcept;

private:
    /// A name that decides where the path leads.
    struct mark {
        std::string directory;  ///< without symbolic links
        std::string name;
        bool is_link = false;
        int number = -1;  ///< of its watch; -1: none

        bool same_place(const mark& o) const noexcept {
            return directory == o.directory && name == o.name && is_link == o.is_link;
        }
    };
    using marks = std::vector<mark>;

    static marks marks_of(std::string_view path, bool had_links);

    marks marks_;
};

}  // namespace coracle::fs::detail
