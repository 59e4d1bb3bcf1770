#include "fs/directory_batch.hpp"

#include <coracle/fs/names.hpp>

#include <fcntl.h>

#include <utility>
#include <vector>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;

bool is_gone(const error& e) noexcept {
    return e == std::errc::no_such_file_or_directory;
}

// Removing a directory as if it were a file: EISDIR says Linux, EPERM says POSIX.
bool may_be_directory(const error& e) noexcept {
    return e == std::errc::is_a_directory || e == std::errc::operation_not_permitted;
}

/// Descends with one descriptor for each level, never by a path, so that no directory can be
/// swapped meanwhile.
class tree_remover {
public:
    explicit tree_remover(std::string path) : path_(std::move(path)) {}

    task<result> run();
    std::uint64_t removed() const noexcept { return removed_; }

private:
    struct level {
        file directory;
        std::string name;  ///< in the level above
        detail::directory_batch batch;
    };

    task<result> step();
    task<result> remove_entry(std::string name, file_kind kind);
    task<result> enter(std::string name);
    task<result> leave();

    std::string path_of(std::string_view name) const;
    std::unexpected<error> named(error e, std::string_view name) const {
        return std::unexpected(std::move(e.on(path_of(name))));
    }
    void take(result& done) noexcept {
        if (done) ++removed_;
    }

    // A directory that others keep filling cannot be removed.
    static constexpr unsigned most_refills = 16;

    std::string path_;
    std::vector<level> levels_;
    std::uint64_t removed_ = 0;
    unsigned refills_ = 0;
};

std::string tree_remover::path_of(std::string_view name) const {
    std::string text = path_;
    for (std::size_t i = 1; i < levels_.size(); ++i) text.append("/").append(levels_[i].name);
    if (!name.empty()) text.append("/").append(name);
    return text;
}

task<result> tree_remover::run() {
    auto done = co_await as_result(remove(path_));
    take(done);
    if (done || is_gone(done.error())) co_return {};
    if (!may_be_directory(done.error())) co_return done;
    const open_flags how = read_only | open_flags::directory | open_flags::no_follow;
    auto root = co_await as_result(open(path_, how));
    if (!root) {
        if (root.error() == std::errc::not_a_directory) co_return done;
        co_return std::unexpected(std::move(root).error());
    }
    levels_.push_back({std::move(*root), {}, {}});
    while (!levels_.empty()) {
        auto r = co_await step();
        if (!r) co_return r;
    }
    co_return {};
}

task<result> tree_remover::step() {
    level& top = levels_.back();
    if (const auto found = top.batch.next()) {
        co_return co_await remove_entry(std::string(found->name), found->kind);
    }
    auto size = co_await as_result(top.batch.fill(top.directory));
    if (!size && is_gone(size.error())) size = 0;
    if (!size) co_return named(std::move(size).error(), {});
    top.batch.filled(*size);
    if (*size == 0) co_return co_await leave();
    co_return {};
}

task<result> tree_remover::remove_entry(std::string name, file_kind kind) {
    if (kind != file_kind::directory) {
        auto done = co_await as_result(remove_at(levels_.back().directory, name));
        take(done);
        if (done || is_gone(done.error())) co_return {};
        if (!may_be_directory(done.error())) co_return named(std::move(done).error(), name);
    }
    co_return co_await enter(std::move(name));
}

task<result> tree_remover::enter(std::string name) {
    if (levels_.size() == most_levels_removed) {
        co_return named(error(errc::limit_exceeded, "most_levels_removed"), name);
    }
    const open_flags how = read_only | open_flags::directory | open_flags::no_follow;
    const file& above = levels_.back().directory;
    auto directory = co_await as_result(open_at(above, name, how));
    if (directory) {
        levels_.push_back({std::move(*directory), std::move(name), {}});
        co_return {};
    }
    const error e = std::move(directory).error();
    if (is_gone(e)) co_return {};
    const bool swapped =
        e == std::errc::not_a_directory || e == std::errc::too_many_symbolic_link_levels;
    if (!swapped) co_return named(e, name);
    auto done = co_await as_result(remove_at(above, name));
    take(done);
    if (done || is_gone(done.error())) co_return {};
    co_return named(std::move(done).error(), name);
}

task<result> tree_remover::leave() {
    const std::string name = std::move(levels_.back().name);
    levels_.pop_back();
    auto op = levels_.empty() ? remove_directory(path_) : remove_at(levels_.back().directory, name);
    op.flags = AT_REMOVEDIR;
    auto done = co_await as_result(op);
    take(done);
    if (done || is_gone(done.error())) co_return {};
    if (done.error() != std::errc::directory_not_empty || ++refills_ > most_refills) {
        co_return named(std::move(done).error(), name);
    }
    if (levels_.empty()) co_return co_await run();
    co_return co_await enter(name);
}

task<std::expected<std::uint64_t, error>> remove_tree(std::string path) {
    // A link with a trailing slash means its target.
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    const std::string_view last = std::string_view(path).substr(path.rfind('/') + 1);
    // They have no name in a directory from which it could be taken.
    if (last == "." || last == ".." || path == "/") {
        error e(std::errc::invalid_argument, "remove_all");
        co_return std::unexpected(std::move(e.on(path)));
    }
    tree_remover all(std::move(path));
    auto done = co_await all.run();
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return all.removed();
}

}  // namespace

operation<std::uint64_t> remove_all(std::string path) {
    return remove_tree(std::move(path));
}

}  // namespace coracle::fs
