// The status of inodes.

#include "testing/disk/tree.hpp"

#include <fcntl.h>

#include <cerrno>

namespace coracle::testing::detail {

file_tree::result file_tree::status(file_request& r) {
    if (*r.op.path == '\0' && (r.op.flags & AT_EMPTY_PATH) == 0) return -ENOENT;
    const bool follows = (r.op.flags & AT_SYMLINK_NOFOLLOW) == 0;
    const auto n = named(r, follows ? follow::always : follow::unless_last);
    if (!n) return -n.error();
    *r.op.status = status_of(**n);
    return 0;
}

file_status status_of(const inode& n) {
    file_status s;
    s.kind = n.kind;
    s.mode = n.now.mode;
    s.user = s.group = owner_of_all;
    s.size = n.kind == file_kind::symlink ? n.target.size()
             : n.is_directory()           ? file_content::page_size
                                          : n.content.size();
    s.allocated = n.content.allocated();
    s.links = n.links;
    s.inode = n.number;
    s.device = 1;
    s.accessed_ns = n.now.accessed_ns;
    s.modified_ns = n.now.modified_ns;
    s.changed_ns = n.now.changed_ns;
    s.created_ns = n.created_ns;
    return s;
}

file_tree::result file_tree::set_mode(file_request& r) {
    if (*r.op.path == '\0' && r.on && (r.on->flags & O_PATH) != 0) return -EBADF;
    const auto n = named(r, follow::always);
    if (!n) return -n.error();
    (*n)->now.mode = r.op.mode & 07777;
    (*n)->now.changed_ns = r.now_ns;
    (*n)->is_dirty = true;
    return 0;
}

file_tree::result file_tree::set_times(file_request& r) {
    if (*r.op.path == '\0' && r.on && (r.on->flags & O_PATH) != 0) return -EBADF;
    const bool follows = (r.op.flags & AT_SYMLINK_NOFOLLOW) == 0;
    const auto n = named(r, follows ? follow::always : follow::unless_last);
    if (!n) return -n.error();
    attributes& now = (*n)->now;
    now.accessed_ns = static_cast<std::int64_t>(r.op.offset);
    now.modified_ns = static_cast<std::int64_t>(r.op.size);
    now.changed_ns = r.now_ns;
    (*n)->is_dirty = true;
    return 0;
}

}  // namespace coracle::testing::detail
