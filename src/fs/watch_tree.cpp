#include "fs/watch_tree.hpp"

#include "fs/join.hpp"
#include "fs/next_in.hpp"

#include <coracle/fs/file_call.hpp>

#include <dirent.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <utility>

namespace coracle::fs::detail {
namespace {

/// The two halves of a move need not follow each other at once.
constexpr duration least_wait_for_arrival = std::chrono::milliseconds(2);

bool is_directory(const std::string& path, bool follow) noexcept {
    struct stat s{};
    const int result = follow ? ::stat(path.c_str(), &s) : ::lstat(path.c_str(), &s);
    return result == 0 && S_ISDIR(s.st_mode);
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> identity_of(
    const std::string& path) noexcept {
    struct stat s{};
    if (::stat(path.c_str(), &s) != 0) return std::nullopt;
    return std::pair<std::uint64_t, std::uint64_t>(s.st_dev, s.st_ino);
}

bool is_below(const std::string& path, const std::string& directory) noexcept {
    return path.starts_with(directory) &&
           (path.size() == directory.size() || path[directory.size()] == '/' ||
            directory.ends_with('/'));
}

bool is_gone(const error& e) noexcept {
    return e == std::errc::no_such_file_or_directory || e == std::errc::not_a_directory;
}

/// ENOSPC and EMFILE, which have nothing to do with disks here.
class share_category final : public std::error_category {
public:
    const char* name() const noexcept override { return "inotify"; }
    std::string message(int number) const override {
        if (number == ENOSPC) {
            return "the user's share of watches is used up; raise fs.inotify.max_user_watches "
                   "(sysctl), or watch fewer directories";
        }
        return "the user's share of inotify instances, or the process's of descriptors, is used "
               "up; raise fs.inotify.max_user_instances (sysctl), or ulimit -n";
    }
    std::error_condition default_error_condition(int number) const noexcept override {
        return {number, std::generic_category()};
    }
};

const share_category shares;

struct use {
    std::uint32_t event;
    change_kind kind;
};

constexpr use uses[] = {{IN_OPEN, change_kind::opened},
                        {IN_ACCESS, change_kind::accessed},
                        {IN_CLOSE_WRITE, change_kind::closed_write},
                        {IN_CLOSE_NOWRITE, change_kind::closed_nowrite}};

std::uint32_t uses_asked_for(unsigned kinds) noexcept {
    std::uint32_t mask = 0;
    for (const use& u : uses) {
        if ((kinds & bit_of(u.kind)) != 0) mask |= u.event;
    }
    return mask;
}

struct directory_closer {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

}  // namespace

watch_tree::watch_tree(std::string path, watch_options options)
    : path_(std::move(path)), options_(std::move(options)),
      queue_(path_, options_.settle, options_.max_pending) {}

error watch_tree::failure(int number, const std::string& path) const {
    const std::error_category& who = number == ENOSPC || number == EMFILE
                                         ? static_cast<const std::error_category&>(shares)
                                         : std::generic_category();
    error e(std::error_code(number, who), "watch");
    return std::move(e.on(path));
}

std::expected<void, error> watch_tree::begin() {
    if (holds_nul(path_)) return std::unexpected(failure(EINVAL, path_));
    inotify_.reset(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
    if (!inotify_) return std::unexpected(failure(errno, path_));
    root_ = path_;
    if (!is_directory(path_, true)) {
        // A missing directory has nothing below it to watch.
        if ((options_.must_exist || options_.recursive) && ::access(path_.c_str(), F_OK) != 0) {
            return std::unexpected(failure(errno, path_));
        }
        const std::size_t slash = path_.rfind('/');
        name_ = path_.substr(slash == std::string::npos ? 0 : slash + 1);
        root_ = slash == std::string::npos ? "." : path_.substr(0, slash == 0 ? 1 : slash);
        if (name_.empty()) return std::unexpected(failure(ENOENT, path_));
    }
    auto added = add_watch(root_, true);
    if (!added) return std::unexpected(std::move(added).error());
    if (auto followed = follow_links(); !followed) return followed;
    if (!options_.recursive || !name_.empty()) return {};
    std::vector<std::string> below;
    auto listed = list(root_, below, true);
    if (!listed) return listed;
    return watch_all(std::move(below), true);
}

std::uint32_t watch_tree::events() const noexcept {
    return link_watch::of_names | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR |
           (options_.whole_writes ? IN_CLOSE_WRITE : IN_MODIFY) | uses_asked_for(options_.kinds);
}

/// Watches the links on the way to `path_`. Where it leads to something else than before, all that
/// was known of that is forgotten.
std::expected<void, error> watch_tree::follow_links() {
    const bool had_links = links_.any();
    const auto before = there_;
    const auto directory_before = directory_;
    const bool replaced = std::exchange(end_changed_, false);
    links_changed_ = false;
    const auto unused = links_.follow(inotify_.get(), path_, name_.empty() ? 0 : events());
    if (!unused) return std::unexpected(failure(unused.error(), path_));
    for (const int number : *unused) {
        if (!directories_.contains(number)) ::inotify_rm_watch(inotify_.get(), number);
    }
    there_ = identity_of(path_);
    directory_ = identity_of(root_);
    const bool same = there_ == before && !(replaced && there_);
    if (!had_links || (same && directory_ == directory_before)) return {};
    if (!same) {
        found_.push_back(
            {there_ ? change_kind::created : change_kind::removed, name_.empty(), path_, {}});
    }
    forget_all_directories();
    // The links may lead to another directory in which the file has its name.
    if (there_ || !name_.empty()) unread_.assign(1, root_);
    anew_ = true;
    return {};
}

void watch_tree::forget_all_directories() {
    for (const auto& [number, directory] : directories_) {
        if (!links_.uses(number)) ::inotify_rm_watch(inotify_.get(), number);
    }
    departures_.clear();
    directories_.clear();
    numbers_.clear();
    displaced_ = {};
}

std::expected<watch_tree::found, error> watch_tree::add_watch(const std::string& directory,
                                                              bool is_root) {
    const std::uint32_t mask = events() | (is_root ? 0u : std::uint32_t{IN_DONT_FOLLOW});
    const int number = ::inotify_add_watch(inotify_.get(), directory.c_str(), mask);
    if (number < 0) {
        if (!is_root && is_passed_over(errno)) return found::nothing;
        return std::unexpected(failure(errno, directory));
    }
    const auto known = directories_.find(number);
    if (known == directories_.end() && directories_.size() >= options_.max_watches) {
        if (!links_.uses(number)) ::inotify_rm_watch(inotify_.get(), number);
        return std::unexpected(error(errc::limit_exceeded, "watch")
                                   .on("max_watches: " + std::to_string(options_.max_watches) +
                                       " directories, at " + directory));
    }
    found what = found::unread;
    if (known != directories_.end()) {
        // One that left and came back is not the one that was there: its old name will be removed.
        if (!departures_.cover(known->second)) what = found::watched_before;
        forget_name(known->second, number);
    }
    directories_[number] = directory;
    numbers_[directory] = number;
    return what;
}

/// Another directory may have the name by now.
void watch_tree::forget_name(const std::string& directory, int number) {
    const auto named = numbers_.find(directory);
    if (named != numbers_.end() && named->second == number) numbers_.erase(named);
}

std::expected<void, error> watch_tree::list(const std::string& directory,
                                            std::vector<std::string>& below, bool quietly) {
    const std::unique_ptr<DIR, directory_closer> d(::opendir(directory.c_str()));
    if (!d) {
        if (!is_passed_over(errno)) return std::unexpected(failure(errno, directory));
        // It was not read yet under its current name.
        forget_below(directory);
        return {};
    }
    while (const dirent* const entry = next_in(*d)) {
        const std::string_view name(entry->d_name);
        if (name == "." || name == "..") continue;
        std::string path = join(directory, name);
        const bool is_dir =
            entry->d_type == DT_DIR || (entry->d_type == DT_UNKNOWN && is_directory(path, false));
        if (!wants(path, is_dir)) continue;
        // One more than may wait makes all of them an overflow.
        if (!quietly && found_.size() <= options_.max_pending)
            found_.push_back({change_kind::created, is_dir, path, {}});
        if (is_dir) below.push_back(std::move(path));
    }
    if (errno == 0 || is_passed_over(errno)) return {};
    return std::unexpected(failure(errno, directory));
}

/// Watches each directory before reading it, so that an entry that is made meanwhile is seen by one
/// or the other. A directory that was watched before is read for the directories in it that could
/// not be found under the name that it had.
std::expected<void, error> watch_tree::watch_all(std::vector<std::string> directories,
                                                 bool quietly) {
    while (!directories.empty()) {
        const std::string directory = std::move(directories.back());
        directories.pop_back();
        auto added = add_watch(directory, directory == root_);
        if (!added && directory == root_ && is_gone(added.error())) {
            if (links_.any()) return {};
            found_.push_back({change_kind::removed, name_.empty(), path_, {}});
            ended_ = true;
            return {};
        }
        if (!added) return std::unexpected(std::move(added).error());
        if (*added == found::nothing || !options_.recursive || !name_.empty()) continue;
        auto listed = list(directory, directories, quietly || *added == found::watched_before);
        if (!listed) return listed;
    }
    return {};
}

std::expected<void, error> watch_tree::look_around() {
    look_at_doubted();
    if (links_changed_) {
        if (auto followed = follow_links(); !followed) return followed;
    }
    return watch_all(std::exchange(unread_, {}), std::exchange(anew_, false));
}

void watch_tree::tell_found(time_point now) {
    for (change& c : std::exchange(found_, {})) {
        if (is_asked_for(c.kind)) {
            // Its links have led to something before.
            const bool replaces = c.path == path_;
            queue_.add(std::move(c), now, replaces);
        }
    }
    bound_what_waits(now);
}

std::expected<bool, error> watch_tree::read_events(time_point now) {
    alignas(inotify_event) char bytes[16 * 1024];
    const ssize_t n = ::read(inotify_.get(), bytes, sizeof bytes);
    if (n < 0) {
        if (errno == EAGAIN || errno == EINTR) return false;
        return std::unexpected(failure(errno, path_));
    }
    for (const char* at = bytes; at < bytes + n;) {
        const auto& e = *reinterpret_cast<const inotify_event*>(at);
        handle(e, now);
        at += sizeof(inotify_event) + e.len;
    }
    return n > 0;
}

void watch_tree::handle(const inotify_event& e, time_point now) {
    if (ended_) return;
    if ((e.mask & IN_Q_OVERFLOW) != 0) return lost_events(now);
    const auto mark = e.len == 0 ? link_watch::hit::none : links_.find(e.wd, e.name);
    const bool is_target = mark == link_watch::hit::end && !name_.empty();
    if (notes_links(e, mark)) return;
    if (is_target && links_changed_) {
        // This may be another file already, which is reported as created.
        end_changed_ = true;
    } else if (is_target) {
        handle_name(e, path_, now);
    } else if (const auto known = directories_.find(e.wd); known != directories_.end()) {
        handle_in(known, e, now);
    }
}

/// Notes that links may lead elsewhere. Returns true if the event has no other meaning.
bool watch_tree::notes_links(const inotify_event& e, link_watch::hit mark) noexcept {
    if (mark != link_watch::hit::none && (e.mask & link_watch::of_names) != 0) {
        links_changed_ = true;
        end_changed_ = end_changed_ || mark == link_watch::hit::end;
        return true;
    }
    constexpr std::uint32_t of_directory = IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED;
    links_changed_ = links_changed_ || ((e.mask & of_directory) != 0 && links_.uses(e.wd));
    return false;
}

void watch_tree::handle_in(std::map<int, std::string>::iterator watched, const inotify_event& e,
                           time_point now) {
    const std::string directory = watched->second;
    if ((e.mask & IN_IGNORED) != 0) {
        forget_name(directory, e.wd);
        directories_.erase(watched);
        return;
    }
    if (e.len == 0) return handle_self(e, directory, now);
    const std::string_view name(e.name);
    if (name_.empty()) return handle_name(e, join(directory, name), now);
    if (name != name_) return;
    // A link may have taken the name.
    links_changed_ = links_changed_ || (e.mask & (IN_CREATE | IN_MOVED_TO)) != 0;
    handle_name(e, path_, now);
}

/// The removal of a directory below the root is reported by its parent.
void watch_tree::handle_self(const inotify_event& e, const std::string& directory, time_point now) {
    const bool is_root = directory == root_;
    if ((e.mask & IN_UNMOUNT) != 0 && is_root) {
        end_departures(now);
        queue_.add_last({change_kind::unmounted, name_.empty(), path_, {}}, now);
    } else if ((e.mask & IN_UNMOUNT) != 0) {
        queue_.add({change_kind::unmounted, true, directory, {}}, now);
    } else if ((e.mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0 && is_root) {
        root_left(now);
    } else if ((e.mask & IN_ATTRIB) != 0 && name_.empty()) {
        tell({change_kind::attributes, true, directory, {}}, now);
    }
}

/// Settles what is in the air when the root has gone: nothing follows.
void watch_tree::end_departures(time_point now) {
    while (auto d = departures_.take_first()) depart(*std::move(d), now);
    unread_.clear();
    ended_ = true;
}

/// Links may lead to another directory instead. Without links nothing follows.
void watch_tree::root_left(time_point now) {
    if (links_.any()) {
        links_changed_ = end_changed_ = true;
        return;
    }
    end_departures(now);
    if (!is_asked_for(change_kind::removed)) return;
    queue_.add_last({change_kind::removed, name_.empty(), path_, {}}, now);
    bound_what_waits(now);
}

/// A file was opened, read or closed. Directories are skipped: the watch itself reads them.
void watch_tree::handle_use(const inotify_event& e, const std::string& path, time_point now) {
    if ((e.mask & IN_ISDIR) != 0) return;
    for (const use& u : uses) {
        if ((e.mask & u.event) != 0) tell({u.kind, false, path, {}}, now);
    }
}

void watch_tree::handle_name(const inotify_event& e, std::string path, time_point now) {
    const bool is_dir = (e.mask & IN_ISDIR) != 0;
    const std::uint32_t of_use = IN_OPEN | IN_ACCESS | IN_CLOSE_NOWRITE | IN_CLOSE_WRITE;
    if ((e.mask & of_use) != 0) {
        handle_use(e, path, now);
        if (!options_.whole_writes || (e.mask & IN_CLOSE_WRITE) == 0) return;
    }
    // Another file has that name now, so the one that left it is not coming back to it.
    if (auto d = departures_.take(path)) depart(*std::move(d), now);
    if ((e.mask & IN_MOVED_FROM) != 0) {
        const bool may_be_exchange = arrival_ == path;
        arrival_.clear();
        // If only one name is watched, the target does not matter.
        if (name_.empty()) {
            const duration wait = std::max(options_.settle, least_wait_for_arrival);
            departures_.add({e.cookie, is_dir, may_be_exchange, std::move(path),
                             coracle::detail::later(now, wait)});
            return bound_what_waits(now);
        }
        if (may_be_exchange) return doubt({change_kind::removed, is_dir, std::move(path), {}});
    }
    if ((e.mask & IN_MOVED_TO) != 0) return arrived(e, std::move(path), now);
    change_kind kind = change_kind::attributes;
    if ((e.mask & IN_CREATE) != 0) {
        kind = change_kind::created;
        appeared(path, is_dir);
    } else if ((e.mask & (IN_DELETE | IN_MOVED_FROM)) != 0) {
        kind = change_kind::removed;
    } else if ((e.mask & (IN_MODIFY | IN_CLOSE_WRITE)) != 0) {
        kind = change_kind::modified;
    }
    tell({kind, is_dir, std::move(path), {}}, now);
}

void watch_tree::arrived(const inotify_event& e, std::string path, time_point now) {
    const bool is_dir = (e.mask & IN_ISDIR) != 0;
    auto left = departures_.take(e.cookie);
    if (!left) {
        // If a directory had the name, it is elsewhere now, or gone.
        while (auto d = departures_.take_below(path)) depart(*std::move(d), now);
        forget_below(path);
        appeared(path, is_dir);
        arrival_ = path;
        // Another file may have had the name.
        return tell({change_kind::created, is_dir, std::move(path), {}}, now, true);
    }
    std::string from = std::move(left->path);
    if (is_dir) rename_below(from, path, now);
    // It, or an entry of it, may not have been found because the old name was used.
    appeared(path, is_dir);
    const bool saw = wants(from, is_dir);
    const bool sees = wants(path, is_dir);
    if (saw && sees) {
        tell({change_kind::moved, is_dir, std::move(path), std::move(from)}, now);
    } else if (sees) {
        tell({change_kind::created, is_dir, std::move(path), {}}, now);
    } else if (saw) {
        forget_below(path);
        tell({change_kind::removed, is_dir, std::move(from), {}}, now);
    }
}

void watch_tree::appeared(const std::string& path, bool is_dir) {
    if (is_dir && options_.recursive && name_.empty() && wants(path, true)) {
        unread_.push_back(path);
    }
}

void watch_tree::lost_events(time_point now) {
    found_.clear();
    queue_.overflow(now);
    // The set of directories is not known any more either, nor whether the first still exists.
    forget_all_directories();
    unread_.assign(1, root_);
    anew_ = true;
    links_changed_ = links_.any();
}

/// Removes the names of a directory, and of those below, from their watches.
watch_tree::watches watch_tree::take_below(const std::string& directory) {
    watches taken;
    for (auto at = numbers_.lower_bound(directory);
         at != numbers_.end() && at->first.starts_with(directory);) {
        if (!is_below(at->first, directory)) {
            ++at;
            continue;
        }
        taken.emplace_back(at->first.substr(directory.size()), at->second);
        at = numbers_.erase(at);
    }
    return taken;
}

void watch_tree::forget_below(const std::string& directory) {
    for (const auto& [name, number] : take_below(directory)) {
        ::inotify_rm_watch(inotify_.get(), number);
        directories_.erase(number);
    }
}

void watch_tree::rename_below(const std::string& from, const std::string& to, time_point now) {
    // The system reports an exchange as two moves, the first onto what the second takes away.
    const bool exchanges = displaced_.name == from && displaced_.by == to &&
                           !displaced_.of.empty() &&
                           directories_.contains(displaced_.of.front().second);
    if (!exchanges) {
        // Done while they can be found: the directory named `to` is about to lose its name.
        while (auto d = departures_.take_below(to)) depart(*std::move(d), now);
        departures_.rename_below(from, to);
    }
    watches moved = exchanges ? std::move(displaced_.of) : take_below(from);
    displaced_ = exchanges ? displaced{} : displaced{to, from, take_below(to)};
    for (auto& [name, number] : moved) {
        // The watch may be gone since.
        const auto known = directories_.find(number);
        if (known == directories_.end()) continue;
        known->second = to + name;
        numbers_[to + name] = number;
    }
}

/// A name that left, and did not arrive in a watched directory, is gone.
void watch_tree::depart(departure d, time_point now) {
    if (d.may_be_exchange) {
        return doubt({change_kind::removed, d.is_directory, std::move(d.path), {}});
    }
    if (d.is_directory) forget_below(d.path);
    tell({change_kind::removed, d.is_directory, std::move(d.path), {}}, now);
}

/// An exchange with something that is not watched is reported as an arrival at a name, and then as
/// a departure from it.
void watch_tree::doubt(change c) {
    doubted_.push_back(std::move(c));
}

void watch_tree::look_at_doubted() {
    for (change& c : std::exchange(doubted_, {})) {
        struct stat s{};
        const bool is_there = ::lstat(c.path.c_str(), &s) == 0;
        if (c.is_directory) forget_below(c.path);
        // The directory that has the name now is watched anew: the one that had it may be outside.
        if (is_there && c.is_directory && S_ISDIR(s.st_mode)) appeared(c.path, true);
        if (is_there) continue;
        if (c.path == path_ || wants(c.path, c.is_directory)) found_.push_back(std::move(c));
    }
}

void watch_tree::depart_overdue(time_point now) {
    // The settle time has passed during the wait.
    while (departures_.next_due() <= now) depart(*departures_.take_first(), now - options_.settle);
}

bool watch_tree::is_asked_for(change_kind kind) const noexcept {
    return (options_.kinds & bit_of(kind)) != 0;
}

bool watch_tree::wants(const std::string& path, bool is_dir) {
    return !options_.filter || options_.filter(path, is_dir);
}

void watch_tree::tell(change c, time_point now, bool replaces) {
    if (!is_asked_for(c.kind)) return;
    if (c.path != path_ && !wants(c.path, c.is_directory)) return;
    queue_.add(std::move(c), now, replaces);
    bound_what_waits(now);
}

/// `max_pending` limits changes and departures together: a departure will become a change.
void watch_tree::bound_what_waits(time_point now) {
    if (queue_.size() + departures_.size() <= options_.max_pending) return;
    while (auto d = departures_.take_first()) {
        if (d->may_be_exchange) {
            doubt({change_kind::removed, d->is_directory, std::move(d->path), {}});
        } else if (d->is_directory) {
            forget_below(d->path);
        }
    }
    queue_.overflow(now);
}

std::optional<change> watch_tree::take(time_point now) {
    return queue_.take(now);
}

time_point watch_tree::next_due() const noexcept {
    return std::min(queue_.next_due(), departures_.next_due());
}

}  // namespace coracle::fs::detail
