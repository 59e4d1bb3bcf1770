#pragma once

#include "testing/disk/content.hpp"
#include "testing/disk/range_locks.hpp"
#include "testing/subject.hpp"

#include <coracle/runtime/file_operation.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace coracle::testing::detail {

struct inode;
using inode_ref = ref<inode>;
using entries = std::map<std::string, inode_ref, std::less<>>;

/// The attributes of an inode; all but the size.
struct attributes {
    std::uint32_t mode = 0;
    std::int64_t accessed_ns = 0;
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;
};

/// A file, directory or symlink, as programs see it and as it has reached the disk.
struct inode final : subject {
    inode(file_kind k, std::uint64_t n, medium& m) noexcept : kind(k), number(n), content(m) {}

    bool is_directory() const noexcept { return kind == file_kind::directory; }
    /// Frees an inode that programs can reach no more.
    void release_if_gone() {
        if (links == 0 && opens == 0) content.release();
    }

    const file_kind kind;
    const std::uint64_t number;
    attributes now;
    attributes durable;
    bool is_dirty = false;  ///< `now`, for a sync
    std::int64_t created_ns = 0;
    std::uint64_t links = 0;
    std::uint64_t opens = 0;
    bool may_be_linked = false;  ///< without a name: O_TMPFILE without O_EXCL
    std::uint64_t crashes = 0;   ///< of the disk, when it was last put in order

    file_content content;  ///< of a regular file
    range_locks locks;
    std::string target;  ///< of a symlink
    inode* parent =
        nullptr;       ///< of a directory; null when it has been removed; the root's is itself
    entries children;  ///< of a directory
    entries durable_children;  ///< those whose names have reached the disk
};

/// An open file description.
struct open_file final : subject {
    open_file(inode_ref n, unsigned f, std::uint64_t c) : node(std::move(n)), flags(f), crashes(c) {
        ++node->opens;
    }
    ~open_file() override {
        node->locks.forget(this);
        --node->opens;
        node->release_if_gone();
    }

    inode_ref node;
    unsigned flags;
    std::uint64_t crashes;  ///< of the disk, before it was opened
    std::uint64_t position = 0;
    std::vector<std::string> listing;  ///< of a directory that is being read
};

}  // namespace coracle::testing::detail
