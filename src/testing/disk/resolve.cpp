// The resolution of paths: path_resolution(7).

#include "base/whole_number.hpp"
#include "testing/disk/tree.hpp"

#include <fcntl.h>

#include <cerrno>
#include <utility>

namespace coracle::testing::detail {
namespace {

constexpr unsigned most_links = 40;  ///< symlinks on the way of one path
constexpr std::string_view own_descriptors = "/proc/self/fd/";

}  // namespace

/// `other` starts at the other of its two directories.
file_tree::found file_tree::resolve(const file_request& r, bool other, std::string_view path,
                                    follow how) const {
    if (path.empty()) return std::unexpected(ENOENT);
    if (path.size() >= longest_path) return std::unexpected(ENAMETOOLONG);
    walk w{root_, std::string(path), r.is_by_hand};
    const int fd = other ? r.op.other_fd : r.op.fd;
    if (path.front() != '/' && fd != AT_FDCWD) {
        const open_file* const start = other ? r.other.get() : r.on.get();
        if (start == nullptr) return std::unexpected(EBADF);
        w.at = start->node;
        if (!w.at->is_directory()) return std::unexpected(ENOTDIR);
    }
    found p = walk_along(std::move(w), how);
    if (!p || r.is_by_hand) return p;
    if (const int number = refusal(*p)) return std::unexpected(number);
    return p;
}

/// Skips slashes; returns true if nothing follows them.
bool file_tree::skip_slashes(walk& w) const {
    w.rest.erase(0, std::min(w.rest.find_first_not_of('/'), w.rest.size()));
    return w.rest.empty();
}

/// A symlink at the end of a path.
bool file_tree::follows(follow how, bool slash) noexcept {
    switch (how) {
        case follow::always: return true;
        case follow::unless_last: return slash;
        case follow::to_create: return !slash;
        case follow::never: break;
    }
    return false;
}

file_tree::found file_tree::walk_along(walk w, follow how) const {
    if (w.rest.front() == '/') w.at = root_;
    if (skip_slashes(w)) return place{w.at, {}, w.at, last_name::root, true};
    for (;;) {
        const std::size_t end = std::min(w.rest.find('/'), w.rest.size());
        std::string name = w.rest.substr(0, end);
        w.rest.erase(0, end);
        const bool slash = !w.rest.empty();
        const bool is_last = skip_slashes(w);
        if (!w.is_by_hand && !permits(*w.at, 1)) return std::unexpected(EACCES);
        // A call that changes a name looks it up only after all else of its paths.
        if (is_too_long(name) && !(is_last && how == follow::never)) {
            return std::unexpected(ENAMETOOLONG);
        }

        inode_ref next = child(*w.at, name);
        if (next && next->kind == file_kind::symlink && (!is_last || follows(how, slash))) {
            if (++w.links > most_links) return std::unexpected(ELOOP);
            w.rest = next->target + (slash ? "/" : "") + w.rest;
            if (w.rest.front() == '/') w.at = root_;
            if (skip_slashes(w)) return place{w.at, {}, w.at, last_name::root, true};
            continue;
        }
        if (is_last) {
            const bool must_be_directory =
                slash && (how == follow::always || how == follow::unless_last);
            if (must_be_directory && next && !next->is_directory()) {
                return std::unexpected(ENOTDIR);
            }
            const last_name kind = name == "."    ? last_name::dot
                                   : name == ".." ? last_name::dot_dot
                                                  : last_name::ordinary;
            return place{std::move(w.at), std::move(name), std::move(next), kind, slash};
        }
        if (!next) return std::unexpected(ENOENT);
        if (!next->is_directory()) return std::unexpected(ENOTDIR);
        w.at = std::move(next);
    }
}

inode_ref file_tree::child(const inode& directory, const std::string& name) const {
    if (name == ".") return const_cast<inode*>(&directory);
    if (name == "..") return directory.parent;
    const auto at = directory.children.find(name);
    return at == directory.children.end() ? inode_ref() : at->second;
}

/// Returns the file that a path under /proc/self/fd names; null when it is none.
std::expected<inode_ref, int> file_tree::magic_link(const file_request& r,
                                                    std::string_view path) const {
    if (!path.starts_with(own_descriptors)) return inode_ref();
    const auto fd = coracle::detail::whole_number<int>(path.substr(own_descriptors.size()));
    if (!fd) return std::unexpected(ENOENT);
    const ref<open_file> f = r.numbers.file_at(*fd);
    if (!f) return std::unexpected(ENOENT);
    return f->node;
}

/// The inode that `path` names, or, when it is empty, `fd`.
std::expected<inode_ref, int> file_tree::named(const file_request& r, follow how) const {
    const std::string_view path = r.op.path;
    if (path.empty()) {
        if (r.op.fd == AT_FDCWD) return root_;
        if (!r.on) return std::unexpected(EBADF);
        return r.on->node;
    }
    if (how == follow::always) {
        auto magic = magic_link(r, path);
        if (!magic || *magic) return magic;
    }
    found p = resolve(r, false, path, how);
    if (!p) return std::unexpected(p.error());
    if (!p->target) return std::unexpected(ENOENT);
    return p->target;
}

// ---- permissions --------------------------------------------------------------------------------

/// Returns true if the owner of the file has all permissions in `bits` (4 read, 2 write, 1
/// execute): all files belong to the user who runs the programs.
bool file_tree::permits(const inode& n, unsigned bits) const noexcept {
    return options.privileged || (n.now.mode >> 6 & bits) == bits;
}

int file_tree::may_change_names(const inode& directory) const noexcept {
    return permits(directory, 3) ? 0 : EACCES;
}

// ---- refusals -----------------------------------------------------------------------------------

std::string file_tree::path_of(const place& p) const {
    const inode* at = p.directory.get();
    std::string path = p.kind == last_name::ordinary ? '/' + p.name : "";
    if (p.kind != last_name::ordinary && p.target) at = p.target.get();
    while (at != root_.get() && at != nullptr && at->parent != nullptr) {
        for (const auto& [name, node] : at->parent->children) {
            if (node.get() == at) path.insert(0, '/' + name);
        }
        at = at->parent;
    }
    return path.empty() ? "/" : path;
}

int file_tree::refusal(const place& p) const {
    if (refused_.empty()) return 0;
    const auto at = refused_.find(path_of(p));
    return at == refused_.end() ? 0 : at->second;
}

void file_tree::refuse(std::string_view path, int number) {
    refused_.insert_or_assign(std::string(path), number);
}

void file_tree::allow(std::string_view path) {
    if (const auto at = refused_.find(path); at != refused_.end()) refused_.erase(at);
}

inode_ref file_tree::find(std::string_view path, bool follows) const {
    if (path.empty()) return {};
    const found p = walk_along({root_, std::string(path), true},
                               follows ? follow::always : follow::unless_last);
    return p ? p->target : inode_ref();
}

}  // namespace coracle::testing::detail
