#include "testing/disk/journal.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace coracle::testing::detail {
namespace {

void apply(const entry_change& c, entries& to) {
    if (c.target) {
        to[c.name] = c.target;
    } else {
        to.erase(c.name);
    }
}

using directories = std::set<const inode*>;

bool touches(const name_operation& op, const directories& which) {
    return std::any_of(op.changes.begin(), op.changes.end(), [&which](const entry_change& c) {
        return which.contains(c.directory.get());
    });
}

/// Returns true if it gives one of these directories its name.
bool names(const name_operation& op, const directories& which) {
    return std::any_of(op.changes.begin(), op.changes.end(), [&which](const entry_change& c) {
        return c.target && which.contains(c.target.get());
    });
}

bool is_between_directories(const name_operation& op) {
    return std::any_of(op.changes.begin(), op.changes.end(), [&op](const entry_change& c) {
        return c.directory.get() != op.changes.front().directory.get();
    });
}

void insert(directories& into, const name_operation& op) {
    for (const entry_change& c : op.changes) into.insert(c.directory.get());
}

void insert_named(directories& into, const name_operation& op) {
    for (const entry_change& c : op.changes) {
        if (c.target && c.target->is_directory()) into.insert(c.target.get());
    }
}

}  // namespace

void name_journal::add(name_operation op) {
    for (const entry_change& c : op.changes) apply(c, c.directory->children);
    pending_.push_back(std::move(op));
    if (pending_.size() <= most) return;
    reach_disk(pending_.front());
    pending_.pop_front();
}

void name_journal::reach_disk(const name_operation& op) {
    for (const entry_change& c : op.changes) apply(c, c.directory->durable_children);
}

void name_journal::sync(const inode& directory) {
    directories wanted{&directory};
    directories needed;  // what came into them from elsewhere would be gone without their names
    std::vector<bool> chosen(pending_.size());
    bool all = false;
    for (std::size_t i = pending_.size(); i-- != 0;) {
        const name_operation& op = pending_[i];
        const bool is_needed = names(op, needed);
        if (!all && !is_needed && !touches(op, wanted)) continue;
        chosen[i] = true;
        insert(wanted, op);
        if (is_needed || is_between_directories(op)) insert(needed, op);
        all = all || op.moves_directory;
    }
    std::deque<name_operation> left;
    for (std::size_t i = 0; i != pending_.size(); ++i) {
        if (chosen[i]) {
            reach_disk(pending_[i]);
        } else {
            left.push_back(std::move(pending_[i]));
        }
    }
    pending_.swap(left);
}

void name_journal::sync_all() {
    for (const name_operation& op : pending_) reach_disk(op);
    pending_.clear();
}

void name_journal::crash(random_source& chance) {
    // All, none, and something between are as likely as each other.
    const std::uint64_t style = chance.up_to(3);
    directories lost;
    for (const name_operation& op : pending_) {
        const bool is_lost = touches(op, lost) || (op.moves_directory && !lost.empty()) ||
                             style == 0 || (style != 1 && chance.one_in(4));
        if (is_lost) {
            insert(lost, op);
            insert_named(lost, op);
        } else {
            reach_disk(op);
        }
    }
    pending_.clear();
}

}  // namespace coracle::testing::detail
