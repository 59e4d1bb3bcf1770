#include "testing/disk/tree.hpp"

#include <algorithm>
#include <cerrno>
#include <vector>

namespace coracle::testing::detail {

file_tree::file_tree(const disk_options& o) : options(o) {
    storage.capacity = o.capacity;
    root_ = make(file_kind::directory, 0755, 0);
    root_->parent = root_.get();
    root_->links = 2;
    const inode_ref scratch = make(file_kind::directory, 0777, 0);
    scratch->now.mode = scratch->durable.mode = 01777;
    add_name({root_, "tmp", {}}, scratch, 0);
    sync_all();
}

file_tree::~file_tree() = default;

file_tree::result file_tree::perform(file_request& r) {
    if (performed >= power_ends) return -EIO;
    ++performed;
    const auto is_of_the_past = [this](const ref<open_file>& f) {
        return f && f->crashes != crashes_;
    };
    if (is_of_the_past(r.on) || is_of_the_past(r.other)) return -EIO;
    last_ns_ = std::max(last_ns_, r.now_ns);
    return call(r);
}

file_tree::result file_tree::perform_by_hand(file_request& r) {
    r.now_ns = ++last_ns_;
    return call(r);
}

file_tree::result file_tree::call(file_request& r) {
    switch (r.op.action) {
        case file_action::open: return open(r);
        case file_action::close: return 0;
        case file_action::read: return read(r);
        case file_action::write: return write(r);
        case file_action::sync: return sync(r);
        case file_action::allocate: return allocate(r);
        case file_action::truncate: return truncate(r);
        case file_action::status: return status(r);
        case file_action::set_mode: return set_mode(r);
        case file_action::set_times: return set_times(r);
        case file_action::make_directory: return make_directory(r);
        case file_action::remove: return remove(r);
        case file_action::rename: return rename(r);
        case file_action::link: return link(r);
        case file_action::symlink: return symlink(r);
        case file_action::read_link: return read_link(r);
        case file_action::list: return list(r);
        case file_action::copy_range: return copy_range(r);
        case file_action::lock: return lock(r);
    }
    return -ENOSYS;
}

inode_ref file_tree::make(file_kind k, unsigned mode, std::int64_t now_ns) {
    inode_ref n(new inode(k, ++last_inode_, storage));
    n->crashes = crashes_;
    n->created_ns = now_ns;
    const unsigned kept = k == file_kind::symlink ? 0777 : mode & 07777 & ~options.umask;
    n->now = {kept, now_ns, now_ns, now_ns};
    // A name that reaches the disk takes its inode along, though not what that holds.
    n->durable = n->now;
    return n;
}

// ---- what reaches the disk ----------------------------------------------------------------------

void file_tree::sync_all() {
    journal_.sync_all();
    std::vector<inode*> waiting{root_.get()};
    while (!waiting.empty()) {
        inode& n = *waiting.back();
        waiting.pop_back();
        n.content.sync();
        n.durable = n.now;
        n.is_dirty = false;
        for (const auto& [name, node] : n.children) waiting.push_back(node.get());
    }
}

void file_tree::sync_names_of(std::string_view path) {
    for (std::size_t end = 0; end != std::string_view::npos; end = path.find('/', end + 1)) {
        const inode_ref n = end == 0 ? root_ : find(path.substr(0, end));
        if (n && n->is_directory()) journal_.sync(*n);
    }
}

void file_tree::crash(std::uint64_t seed) {
    random_source chance(seed);
    ++crashes_;
    power_ends = UINT64_MAX;
    journal_.crash(chance);
    put_in_order(chance);
}

/// Makes what has reached the disk all that there is.
void file_tree::put_in_order(random_source& chance) {
    root_->links = 2;
    root_->crashes = crashes_;
    std::vector<inode*> waiting{root_.get()};
    while (!waiting.empty()) {
        inode& directory = *waiting.back();
        waiting.pop_back();
        restore(directory, chance, waiting);
    }
}

void file_tree::restore(inode& directory, random_source& chance, std::vector<inode*>& waiting) {
    directory.children = directory.durable_children;
    for (const auto& [name, node] : directory.children) {
        inode& n = *node;
        if (n.crashes != crashes_) {
            n.crashes = crashes_;
            n.links = 0;
            n.locks = {};
            n.content.crash(chance);
            if (n.is_dirty && chance.one_in(2)) n.durable = n.now;
            n.now = n.durable;
            n.is_dirty = false;
        }
        ++n.links;
        if (!n.is_directory()) continue;
        ++n.links;
        ++directory.links;
        n.parent = &directory;
        waiting.push_back(&n);
    }
}

}  // namespace coracle::testing::detail
