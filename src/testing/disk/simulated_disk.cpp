#include "testing/disk/tree.hpp"

#include <coracle/base/error.hpp>
#include <coracle/testing/simulated_disk.hpp>

#include <fcntl.h>

#include <utility>

namespace coracle::testing {
namespace {

using detail::file_request;
using detail::inode;
using detail::inode_ref;
using detail::open_file;
using detail::ref;

[[noreturn]] void fail(int number, const char* what, std::string_view path) {
    error e(std::error_code(number, std::generic_category()), what);
    throw_exception(std::move(e.on(path)));
}

/// No program has a file open: the calls come from a test.
struct no_numbers final : detail::number_table {
    ref<open_file> file_at(int) const override { return {}; }
};

/// Permissions hold nothing back while it lives.
class privileges {
public:
    explicit privileges(bool& of) noexcept : of_(of), before_(std::exchange(of, true)) {}
    privileges(const privileges&) = delete;
    privileges& operator=(const privileges&) = delete;
    ~privileges() { of_ = before_; }

private:
    bool& of_;
    bool before_;
};

/// Does an operation for a test, which no permission, refusal or end of the power holds back.
class by_hand {
public:
    explicit by_hand(detail::file_tree& t) noexcept : tree_(t) {}

    file_operation& op(file_action a, const std::string& path) {
        file_operation& op = op_.emplace(a, nullptr);
        op.fd = AT_FDCWD;
        op.path = path.c_str();
        return op;
    }
    std::int64_t perform() {
        const privileges all(tree_.options.privileged);
        file_request r{*op_, numbers_, file, {}};
        r.is_by_hand = true;
        const std::int64_t result = tree_.perform_by_hand(r);
        if (r.opened) file = std::move(r.opened);
        return result;
    }

    ref<open_file> file;

private:
    detail::file_tree& tree_;
    no_numbers numbers_;
    std::optional<file_operation> op_;
};

/// Makes a directory and those above it, and puts their names on the disk.
void make_directories(detail::file_tree& tree, std::string_view path) {
    for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
        const std::string so_far(path.substr(0, end));
        by_hand call(tree);
        call.op(file_action::make_directory, so_far).mode = 0777;
        const std::int64_t made = so_far.empty() ? -EEXIST : call.perform();
        if (made < 0 && made != -EEXIST) fail(static_cast<int>(-made), "mkdir", path);
        if (end == std::string_view::npos) return;
    }
}

void remove_tree(detail::file_tree& tree, const std::string& path) {
    by_hand call(tree);
    call.op(file_action::remove, path);
    const std::int64_t removed = call.perform();
    if (removed == 0 || removed == -ENOENT) return;
    if (removed != -EISDIR) fail(static_cast<int>(-removed), "remove", path);
    const detail::entries children = tree.find(path)->children;
    for (const auto& [name, node] : children) {
        std::string beneath = path;
        remove_tree(tree, beneath.append("/").append(name));
    }
    call.op(file_action::remove, path).flags = AT_REMOVEDIR;
    if (const auto r = call.perform(); r < 0) fail(static_cast<int>(-r), "remove", path);
}

inode_ref existing(const detail::file_tree& tree, const char* what, std::string_view path) {
    inode_ref n = tree.find(path);
    if (!n) fail(ENOENT, what, path);
    return n;
}

}  // namespace

simulated_disk::simulated_disk(const disk_options& options)
    : tree_(std::make_unique<detail::file_tree>(options)) {}

simulated_disk::simulated_disk(simulated_disk&&) noexcept = default;
simulated_disk& simulated_disk::operator=(simulated_disk&&) noexcept = default;
simulated_disk::~simulated_disk() = default;

// ---- by hand ------------------------------------------------------------------------------------

void simulated_disk::write(std::string_view path, std::string_view content) {
    const std::size_t slash = path.rfind('/');
    if (slash != std::string_view::npos && slash != 0) {
        make_directories(*tree_, path.substr(0, slash));
    }
    const std::string name(path);
    by_hand call(*tree_);
    file_operation& open = call.op(file_action::open, name);
    open.flags = O_WRONLY | O_CREAT | O_TRUNC;
    open.mode = 0666;
    if (const auto r = call.perform(); r < 0) fail(static_cast<int>(-r), "write", path);
    inode& n = *call.file->node;
    if (n.content.write(0, content) != content.size()) fail(ENOSPC, "write", path);
    n.content.sync();
    n.durable = n.now;
    n.is_dirty = false;
    tree_->sync_names_of(path);
}

void simulated_disk::make_directory(std::string_view path) {
    make_directories(*tree_, path);
    tree_->sync_names_of(path);
}

void simulated_disk::remove(std::string_view path) {
    remove_tree(*tree_, std::string(path));
    tree_->sync_names_of(path);
}

std::string simulated_disk::read(std::string_view path) const {
    const inode_ref n = existing(*tree_, "read", path);
    if (n->is_directory()) fail(EISDIR, "read", path);
    std::string content(static_cast<std::size_t>(n->content.size()), '\0');
    n->content.read(0, content.data(), content.size());
    return content;
}

bool simulated_disk::exists(std::string_view path) const {
    return static_cast<bool>(tree_->find(path));
}

std::optional<file_status> simulated_disk::status(std::string_view path) const {
    const inode_ref n = tree_->find(path);
    if (!n) return std::nullopt;
    return status_of(*n);
}

std::optional<file_status> simulated_disk::link_status(std::string_view path) const {
    const inode_ref n = tree_->find(path, false);
    if (!n) return std::nullopt;
    return status_of(*n);
}

std::vector<std::string> simulated_disk::list(std::string_view directory) const {
    const inode_ref n = existing(*tree_, "list", directory);
    if (!n->is_directory()) fail(ENOTDIR, "list", directory);
    std::vector<std::string> names;
    for (const auto& [name, node] : n->children) names.push_back(name);
    return names;
}

std::uint64_t simulated_disk::used() const noexcept {
    return tree_->storage.used;
}

// ---- what goes wrong ----------------------------------------------------------------------------

void simulated_disk::limit(std::uint64_t capacity) noexcept {
    tree_->storage.capacity = capacity;
}

void simulated_disk::refuse(std::string_view path, int number) {
    tree_->refuse(path, number);
}

void simulated_disk::allow(std::string_view path) {
    tree_->allow(path);
}

void simulated_disk::cut_power_after(std::uint64_t operations) noexcept {
    tree_->power_ends = tree_->performed + operations;
}

std::uint64_t simulated_disk::operations() const noexcept {
    return tree_->performed;
}

void simulated_disk::crash(std::uint64_t seed) {
    tree_->crash(seed);
}

void simulated_disk::sync() {
    tree_->sync_all();
}

}  // namespace coracle::testing
