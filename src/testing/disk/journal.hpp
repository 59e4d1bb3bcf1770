#pragma once

#include "testing/disk/inode.hpp"

#include <deque>
#include <vector>

namespace coracle::testing::detail {

/// A name that gets another inode, or null and so none.
struct entry_change {
    inode_ref directory;
    std::string name;
    inode_ref target;
};

/// The changes of names by one call: they reach the disk as a whole or not at all.
struct name_operation {
    std::vector<entry_change> changes;
    bool moves_directory = false;  ///< from one directory to another
};

/// The operations on names that have not reached the disk. Those of one directory reach it in their
/// order, and what moves a directory to another after everything before it: or two of those could
/// make a circle.
class name_journal {
public:
    /// Makes it visible as well.
    void add(name_operation op);
    void sync(const inode& directory);
    void sync_all();
    /// Crashes: some changes have reached the disk, and the others never happened.
    void crash(random_source& chance);

private:
    /// Operations that wait, beyond which the oldest reaches the disk by itself.
    static constexpr std::size_t most = 1024;

    static void reach_disk(const name_operation& op);

    std::deque<name_operation> pending_;
};

}  // namespace coracle::testing::detail
