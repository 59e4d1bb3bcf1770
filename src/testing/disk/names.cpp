// Calls on names: open, mkdir, unlink, rename, link, symlink, readlink.

#include "testing/disk/tree.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace coracle::testing::detail {
namespace {

constexpr unsigned tmpfile = O_TMPFILE;

bool is_set(unsigned flags, unsigned all_of) noexcept {
    return (flags & all_of) == all_of;
}

bool may_write(unsigned flags) noexcept {
    return (flags & O_ACCMODE) != O_RDONLY;
}

}  // namespace

// ---- open ---------------------------------------------------------------------------------------

file_tree::result file_tree::open(file_request& r) {
    const unsigned flags = r.op.flags;
    if (!is_set(flags, O_PATH)) {
        if (is_set(flags, tmpfile)) return open_nameless(r);
        if (is_set(flags, O_CREAT | O_DIRECTORY)) return -EINVAL;
    }
    const bool creates = is_set(flags, O_CREAT) && !is_set(flags, O_PATH);
    const bool follows = !is_set(flags, O_NOFOLLOW) && !(creates && is_set(flags, O_EXCL));
    inode_ref n;
    if (auto magic = magic_link(r, r.op.path); !magic) {
        return -magic.error();
    } else if (*magic && follows) {
        n = *magic;
    } else {
        const follow how = !follows  ? (creates ? follow::never : follow::unless_last)
                           : creates ? follow::to_create
                                     : follow::always;
        const found p = resolve(r, false, r.op.path, how);
        if (!p) return -p.error();
        const auto opened = created_or_found(r, *p);
        if (!opened) return -opened.error();
        n = *opened;
        if (!p->target) {
            // The maker of a file may use it as requested, whatever its permissions.
            r.opened = ref<open_file>(new open_file(n, flags, crashes_));
            return 0;
        }
    }
    if (const int number = may_open(r, *n)) return -number;
    if (is_set(flags, O_TRUNC) && n->kind == file_kind::regular && !is_set(flags, O_PATH)) {
        if (n->content.size() != 0) n->content.truncate(0);
        touch(*n, r.now_ns);
    }
    r.opened = ref<open_file>(new open_file(n, flags, crashes_));
    return 0;
}

std::expected<inode_ref, int> file_tree::created_or_found(file_request& r, const place& p) {
    const bool creates = is_set(r.op.flags, O_CREAT) && !is_set(r.op.flags, O_PATH);
    if (!creates) {
        if (!p.target) return std::unexpected(ENOENT);
        return p.target;
    }
    if (p.kind != last_name::ordinary) {
        return std::unexpected(is_set(r.op.flags, O_EXCL) ? EEXIST : EISDIR);
    }
    if (p.slash) return std::unexpected(EISDIR);
    if (is_too_long(p.name)) return std::unexpected(ENAMETOOLONG);
    if (p.target) {
        if (is_set(r.op.flags, O_EXCL)) return std::unexpected(EEXIST);
        if (p.target->is_directory()) return std::unexpected(EISDIR);
        return p.target;
    }
    if (const int number = may_create(p, false)) return std::unexpected(number);
    inode_ref n = make(file_kind::regular, r.op.mode, r.now_ns);
    add_name(p, n, r.now_ns);
    return n;
}

int file_tree::may_open(const file_request& r, const inode& n) const {
    const unsigned flags = r.op.flags;
    if (is_set(flags, O_DIRECTORY) && !n.is_directory()) return ENOTDIR;
    if (is_set(flags, O_PATH)) return 0;
    if (n.kind == file_kind::symlink) return ELOOP;
    const bool writes = may_write(flags) || is_set(flags, O_TRUNC);
    if (n.is_directory() && writes) return EISDIR;
    unsigned bits = writes ? 2 : 0;
    if ((flags & O_ACCMODE) != O_WRONLY) bits |= 4;
    return permits(n, bits) ? 0 : EACCES;
}

file_tree::result file_tree::open_nameless(file_request& r) {
    if (!may_write(r.op.flags)) return -EINVAL;
    const found p = resolve(r, false, r.op.path, follow::always);
    if (!p) return -p.error();
    if (!p->target) return -ENOENT;
    if (!p->target->is_directory()) return -ENOTDIR;
    if (p->target->parent == nullptr) return -ENOENT;
    if (const int number = may_change_names(*p->target)) return -number;
    const inode_ref n = make(file_kind::regular, r.op.mode, r.now_ns);
    n->may_be_linked = !is_set(r.op.flags, O_EXCL);
    r.opened = ref<open_file>(new open_file(n, r.op.flags, crashes_));
    return 0;
}

// ---- new names ----------------------------------------------------------------------------------

int file_tree::may_create(const place& p, bool directory) const {
    if (p.kind != last_name::ordinary) return EEXIST;
    if (is_too_long(p.name)) return ENAMETOOLONG;
    if (p.target) return EEXIST;
    if (p.slash && !directory) return ENOENT;
    if (p.directory->parent == nullptr) return ENOENT;
    return may_change_names(*p.directory);
}

void file_tree::add_name(const place& p, const inode_ref& n, std::int64_t now_ns) {
    journal_.add({{{p.directory, p.name, n}}});
    ++n->links;
    if (n->is_directory()) {
        ++n->links;
        ++p.directory->links;
        n->parent = p.directory.get();
    }
    changed_names(*p.directory, now_ns);
}

void file_tree::changed_names(inode& directory, std::int64_t now_ns) {
    touch(directory, now_ns);
}

file_tree::result file_tree::make_directory(file_request& r) {
    const found p = resolve(r, false, r.op.path, follow::never);
    if (!p) return -p.error();
    if (const int number = may_create(*p, true)) return -number;
    // Without set-id bits, whatever was requested.
    add_name(*p, make(file_kind::directory, r.op.mode & 01777, r.now_ns), r.now_ns);
    return 0;
}

file_tree::result file_tree::symlink(file_request& r) {
    const std::string_view target = r.op.path;
    if (target.empty()) return -ENOENT;
    if (target.size() >= longest_path) return -ENAMETOOLONG;
    const found p = resolve(r, true, r.op.other_path, follow::never);
    if (!p) return -p.error();
    if (const int number = may_create(*p, false)) return -number;
    const inode_ref n = make(file_kind::symlink, 0777, r.now_ns);
    n->target = target;
    add_name(*p, n, r.now_ns);
    return 0;
}

file_tree::result file_tree::link(file_request& r) {
    if ((r.op.flags & ~static_cast<unsigned>(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH)) != 0) {
        return -EINVAL;
    }
    if (*r.op.path == '\0' && !is_set(r.op.flags, AT_EMPTY_PATH)) return -ENOENT;
    const bool follows = is_set(r.op.flags, AT_SYMLINK_FOLLOW);
    const auto from = named(r, follows ? follow::always : follow::unless_last);
    if (!from) return -from.error();
    inode& n = **from;
    const found to = resolve(r, true, r.op.other_path, follow::never);
    if (!to) return -to.error();
    if (const int number = may_create(*to, false)) return -number;
    if (n.is_directory()) return -EPERM;
    if (n.links == 0 && !n.may_be_linked) return -ENOENT;
    n.may_be_linked = false;
    n.now.changed_ns = r.now_ns;
    n.is_dirty = true;
    add_name(*to, *from, r.now_ns);
    return 0;
}

file_tree::result file_tree::read_link(file_request& r) {
    const slice& room = r.op.pieces[0];
    if (room.size == 0) return -EINVAL;
    const auto n = named(r, follow::unless_last);
    if (!n) return -n.error();
    if ((*n)->kind != file_kind::symlink) return *r.op.path == '\0' ? -ENOENT : -EINVAL;
    const std::size_t size = std::min((*n)->target.size(), room.size);
    std::memcpy(const_cast<char*>(room.data), (*n)->target.data(), size);
    return static_cast<result>(size);
}

// ---- names that go ------------------------------------------------------------------------------

int file_tree::may_remove(const place& p, bool directory) const {
    switch (p.kind) {
        case last_name::root: return directory ? EBUSY : EISDIR;
        case last_name::dot: return directory ? EINVAL : EISDIR;
        case last_name::dot_dot: return directory ? ENOTEMPTY : EISDIR;
        case last_name::ordinary: break;
    }
    if (is_too_long(p.name)) return ENAMETOOLONG;
    if (!p.target) return ENOENT;
    const inode& n = *p.target;
    if (!directory && p.slash) return n.is_directory() ? EISDIR : ENOTDIR;
    if (const int number = may_change_names(*p.directory)) return number;
    if (n.is_directory() != directory) return directory ? ENOTDIR : EISDIR;
    return n.children.empty() ? 0 : ENOTEMPTY;
}

void file_tree::unlinked(inode& n, std::int64_t now_ns) {
    n.now.changed_ns = now_ns;
    n.is_dirty = true;
    if (n.is_directory()) {
        n.links = 0;
        n.parent = nullptr;
    } else {
        --n.links;
    }
    n.release_if_gone();
}

file_tree::result file_tree::remove(file_request& r) {
    if ((r.op.flags & ~static_cast<unsigned>(AT_REMOVEDIR)) != 0) return -EINVAL;
    const found p = resolve(r, false, r.op.path, follow::never);
    if (!p) return -p.error();
    if (const int number = may_remove(*p, is_set(r.op.flags, AT_REMOVEDIR))) return -number;
    journal_.add({{{p->directory, p->name, {}}}});
    if (p->target->is_directory()) --p->directory->links;
    unlinked(*p->target, r.now_ns);
    changed_names(*p->directory, r.now_ns);
    return 0;
}

// ---- rename -------------------------------------------------------------------------------------

int file_tree::may_rename(const place& from, const place& to, unsigned flags) const {
    const bool swaps = is_set(flags, RENAME_EXCHANGE);
    if (from.kind != last_name::ordinary) return EBUSY;
    if (to.kind != last_name::ordinary) return is_set(flags, RENAME_NOREPLACE) ? EEXIST : EBUSY;
    if (is_too_long(from.name)) return ENAMETOOLONG;
    if (!from.target) return ENOENT;
    if (is_too_long(to.name)) return ENAMETOOLONG;
    if (is_set(flags, RENAME_NOREPLACE) && to.target) return EEXIST;
    if (swaps && !to.target) return ENOENT;
    if (swaps && to.slash && !to.target->is_directory()) return ENOTDIR;
    if (!from.target->is_directory() && (from.slash || (!swaps && to.slash))) return ENOTDIR;

    const auto is_above = [](const inode_ref& n, const inode_ref& directory) {
        for (const inode* at = directory.get(); at != nullptr;
             at = at->parent == at ? nullptr : at->parent) {
            if (at == n.get()) return true;
        }
        return false;
    };
    if (is_above(from.target, to.directory)) return EINVAL;
    if (to.target && is_above(to.target, from.directory)) return swaps ? EINVAL : ENOTEMPTY;
    if (from.target == to.target) return 0;
    if (!to.target && to.directory->parent == nullptr) return ENOENT;
    if (const int number = may_change_names(*from.directory)) return number;
    if (const int number = may_change_names(*to.directory)) return number;
    const bool replaces = to.target && !swaps;
    if (replaces && from.target->is_directory() != to.target->is_directory()) {
        return from.target->is_directory() ? ENOTDIR : EISDIR;
    }
    // Moving a directory rewrites its "..".
    const auto may_move = [this](const inode& n) { return !n.is_directory() || permits(n, 2); };
    if (from.directory != to.directory) {
        if (!may_move(*from.target) || (swaps && !may_move(*to.target))) return EACCES;
    }
    return replaces && !to.target->children.empty() ? ENOTEMPTY : 0;
}

file_tree::result file_tree::rename(file_request& r) {
    const unsigned flags = r.op.flags;
    if ((flags & ~static_cast<unsigned>(RENAME_NOREPLACE | RENAME_EXCHANGE)) != 0) return -EINVAL;
    if (is_set(flags, RENAME_NOREPLACE | RENAME_EXCHANGE)) return -EINVAL;
    const found from = resolve(r, false, r.op.path, follow::never);
    if (!from) return -from.error();
    const found to = resolve(r, true, r.op.other_path, follow::never);
    if (!to) return -to.error();
    if (const int number = may_rename(*from, *to, flags)) return -number;
    if (from->target == to->target) return 0;
    if (is_set(flags, RENAME_EXCHANGE)) return exchange(*from, *to, r.now_ns);

    inode& moved = *from->target;
    const bool to_another = from->directory != to->directory;
    journal_.add({{{from->directory, from->name, {}}, {to->directory, to->name, from->target}},
                  to_another && moved.is_directory()});
    if (to->target) {
        if (to->target->is_directory()) --to->directory->links;
        unlinked(*to->target, r.now_ns);
    }
    if (moved.is_directory()) {
        --from->directory->links;
        ++to->directory->links;
        moved.parent = to->directory.get();
    }
    moved.now.changed_ns = r.now_ns;
    moved.is_dirty = true;
    changed_names(*from->directory, r.now_ns);
    changed_names(*to->directory, r.now_ns);
    return 0;
}

file_tree::result file_tree::exchange(const place& from, const place& to, std::int64_t now_ns) {
    const bool to_another = from.directory != to.directory;
    const bool has_directory = from.target->is_directory() || to.target->is_directory();
    journal_.add({{{from.directory, from.name, to.target}, {to.directory, to.name, from.target}},
                  to_another && has_directory});
    const auto moved = [now_ns](inode& n, inode& source, inode& target) {
        n.now.changed_ns = now_ns;
        n.is_dirty = true;
        touch(target, now_ns);
        if (!n.is_directory()) return;
        --source.links;
        ++target.links;
        n.parent = &target;
    };
    moved(*from.target, *from.directory, *to.directory);
    moved(*to.target, *to.directory, *from.directory);
    return 0;
}

}  // namespace coracle::testing::detail
