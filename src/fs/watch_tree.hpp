#pragma once

#include "fs/change_queue.hpp"
#include "fs/departures.hpp"
#include "fs/link_watch.hpp"

#include <coracle/base/error.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <cstdint>
#include <expected>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

struct inotify_event;

namespace coracle::fs::detail {

/// The watches of one `fs::watch`: the directory of each, the events of the system, and the changes
/// to report.
class watch_tree {
public:
    watch_tree(std::string path, watch_options options);

    /// Begins to watch. Reads directories, so it must run on a thread that may block.
    std::expected<void, error> begin();
    /// Follows links that have changed, watches new directories, and records their entries. Blocks,
    /// as `begin` does.
    std::expected<void, error> look_around();
    bool must_look_around() const noexcept {
        return !unread_.empty() || !doubted_.empty() || links_changed_;
    }
    /// Processes some of the system's events. Returns false if there were none.
    std::expected<bool, error> read_events(time_point now);
    /// Queues what `look_around` found.
    void tell_found(time_point now);

    /// Gives up those that left their names some time ago and have not arrived elsewhere. Before
    /// `must_look_around`.
    void depart_overdue(time_point now);
    std::optional<change> take(time_point now);
    time_point next_due() const noexcept;
    /// Returns true when the watched path is gone, and there is nothing more to report.
    bool ended() const noexcept { return ended_ && queue_.next_due() == time_point::max(); }
    int descriptor() const noexcept { return inotify_.get(); }

private:
    enum class found : std::uint8_t {
        nothing,  ///< it was removed, or is not watched
        unread,
        watched_before,  ///< perhaps under another name
    };
    /// Names below a directory, with their numbers.
    using watches = std::vector<std::pair<std::string, int>>;
    /// The watches of a name onto which another was moved.
    struct displaced {
        std::string name;
        std::string by;  ///< the name that this had
        watches of;
    };

    std::uint32_t events() const noexcept;
    std::expected<void, error> follow_links();
    void forget_all_directories();
    std::expected<void, error> watch_all(std::vector<std::string> directories, bool quietly);
    std::expected<found, error> add_watch(const std::string& directory, bool is_root);
    std::expected<void, error> list(const std::string& directory, std::vector<std::string>& below,
                                    bool quietly);
    void forget_name(const std::string& directory, int number);
    watches take_below(const std::string& directory);
    void forget_below(const std::string& directory);
    void rename_below(const std::string& from, const std::string& to, time_point now);

    void handle(const inotify_event& e, time_point now);
    bool notes_links(const inotify_event& e, link_watch::hit mark) noexcept;
    void handle_in(std::map<int, std::string>::iterator watched, const inotify_event& e,
                   time_point now);
    void handle_self(const inotify_event& e, const std::string& directory, time_point now);
    void end_departures(time_point now);
    void root_left(time_point now);
    void handle_use(const inotify_event& e, const std::string& path, time_point now);
    void handle_name(const inotify_event& e, std::string path, time_point now);
    void arrived(const inotify_event& e, std::string path, time_point now);
    void lost_events(time_point now);
    void appeared(const std::string& path, bool is_directory);
    void depart(departure d, time_point now);
    void doubt(change c);
    void look_at_doubted();
    void tell(change c, time_point now, bool replaces = false);
    void bound_what_waits(time_point now);
    bool is_asked_for(change_kind kind) const noexcept;
    bool wants(const std::string& path, bool is_directory);
    error failure(int number, const std::string& path) const;

    std::string path_;
    std::string root_;  ///< the directory that is watched: `path_`, or what it is in
    std::string name_;  ///< the name of the only watched file; empty: all
    watch_options options_;
    owned_fd inotify_;
    change_queue queue_;
    std::map<int, std::string> directories_;  ///< by the number of their watch
    std::map<std::string, int> numbers_;
    departures departures_;  ///< departures that may become moves
    displaced displaced_;
    /// The name at which something arrived last that was not watched before.
    std::string arrival_;
    /// Removals of such names, which an exchange looks like: told if the name is gone.
    std::vector<change> doubted_;
    std::vector<std::string> unread_;
    std::vector<change> found_;
    link_watch links_;  ///< on the way to `path_`
    /// The device and inode of a file.
    using identity = std::optional<std::pair<std::uint64_t, std::uint64_t>>;
    identity there_;      ///< of what `path_` leads to
    identity directory_;  ///< of what `root_` leads to
    bool links_changed_ = false;
    bool end_changed_ = false;  ///< what the links led to was removed or replaced
    bool anew_ = false;         ///< `unread_` are read again, for what was lost
    bool ended_ = false;
};

}  // namespace coracle::fs::detail
