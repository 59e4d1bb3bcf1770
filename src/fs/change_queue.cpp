#include "fs/change_queue.hpp"

#include <utility>

namespace coracle::fs {

std::string_view to_string(change_kind k) noexcept {
    switch (k) {
        case change_kind::created: return "created";
        case change_kind::removed: return "removed";
        case change_kind::modified: return "modified";
        case change_kind::moved: return "moved";
        case change_kind::attributes: return "attributes";
        case change_kind::unmounted: return "unmounted";
        case change_kind::overflow: return "overflow";
        case change_kind::opened: return "opened";
        case change_kind::accessed: return "accessed";
        case change_kind::closed_write: return "closed_write";
        case change_kind::closed_nowrite: return "closed_nowrite";
    }
    return "";
}

namespace detail {
namespace {

/// Returns true if later changes of the same file can be merged into one of this kind.
bool takes_more(change_kind k) noexcept {
    return k == change_kind::created || k == change_kind::removed || k == change_kind::modified ||
           k == change_kind::attributes;
}

}  // namespace

void change_queue::append(change c, time_point due, bool was_there) {
    if (takes_more(c.kind)) open_[c.path] = first_ + entries_.size();
    entry e;
    e.was_there = was_there;
    e.what = std::move(c);
    e.due = due;
    entries_.push_back(std::move(e));
}

bool change_queue::merge(entry& e, const change& c) {
    change_kind& kind = e.what.kind;
    e.what.is_directory = c.is_directory;
    switch (c.kind) {
        case change_kind::created: kind = change_kind::created; return true;
        case change_kind::removed:
            e.dropped = kind == change_kind::created && !e.was_there;
            kind = change_kind::removed;
            return true;
        case change_kind::modified:
            if (kind == change_kind::attributes) kind = change_kind::modified;
            return kind != change_kind::removed;
        case change_kind::attributes: return kind != change_kind::removed;
        default: return false;
    }
}

void change_queue::add(change c, time_point now, bool replaces) {
    const time_point due = coracle::detail::later(now, settle_);
    if (settle_ > duration::zero() && takes_more(c.kind)) {
        const auto found = open_.find(c.path);
        if (found != open_.end()) {
            entry& e = entries_[found->second - first_];
            if (merge(e, c)) {
                if (e.dropped) close(c.path);
                return;
            }
        }
    }
    if (c.kind == change_kind::moved) {
        // Later changes of either name belong to another file.
        close(c.from);
        close(c.path);
    }
    if (entries_.size() >= most_) return overflow(now);
    const bool was_there = replaces || c.kind != change_kind::created;
    append(std::move(c), due, was_there);
}

void change_queue::add_last(change c, time_point now) {
    close(c.path);
    add(std::move(c), now);
}

void change_queue::overflow(time_point now) {
    first_ += entries_.size();
    entries_.clear();
    open_.clear();
    append({change_kind::overflow, true, root_, {}}, now, true);
}

std::optional<change> change_queue::take(time_point now) {
    while (!entries_.empty() && (entries_.front().due <= now || entries_.front().dropped)) {
        entry e = std::move(entries_.front());
        entries_.pop_front();
        ++first_;
        const auto found = open_.find(e.what.path);
        if (found != open_.end() && found->second < first_) open_.erase(found);
        if (!e.dropped) return std::move(e.what);
    }
    return std::nullopt;
}

}  // namespace detail
}  // namespace coracle::fs
