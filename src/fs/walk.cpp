#include "fs/directory_batch.hpp"
#include "runtime/end_if_cancelled.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/walk.hpp>

#include <fcntl.h>

#include <utility>
#include <vector>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;

/// The state of a walk: the open directories, and the entries read of them.
class walker {
public:
    walker(std::string path, walk_options options)
        : path_(std::move(path)), options_(std::move(options)) {}

    task<result> begin();
    bool ended() const noexcept { return levels_.empty(); }

    /// Returns the next entry that was read; nothing if more must be read.
    std::optional<entry> take();
    /// Reads more. Returns an entry if there is a problem to report.
    task<std::expected<std::optional<entry>, error>> read_more();

    bool must_look_at(const entry& e) const noexcept {
        return e.kind == file_kind::unknown || (e.link && options_.follow) ||
               (e.is_directory() && e.depth < options_.depth);
    }
    /// Reads the type of an entry, and enters a directory. Fails only when cancelled.
    task<result> look_at(entry& e);

private:
    struct level {
        file directory;
        std::size_t path_size;  ///< size of the part of `path_` up to this directory
        std::uint64_t device = 0;
        std::uint64_t inode = 0;
        detail::directory_batch batch{};
    };

    task<result> find_kind(entry& e);
    task<result> enter(entry& e);
    task<result> refuse_loop(level& below, entry& e);

    std::string path_;  ///< of the directory at the bottom
    walk_options options_;
    std::vector<level> levels_;
};

/// A cancelled operation ends the walk; what else happened belongs to the entry.
result with_problem(entry& e, error why) {
    if (coracle::detail::is_cancellation(why)) return std::unexpected(std::move(why));
    e.problem = std::move(why.on(e.path));
    return {};
}

task<result> walker::begin() {
    const open_flags how = read_only | open_flags::directory;
    auto root = co_await as_result(open(path_, how));
    if (!root) co_return std::unexpected(std::move(root).error());
    level top{std::move(*root), path_.size()};
    if (options_.follow) {
        auto known = co_await as_result(top.directory.status());
        if (!known) co_return std::unexpected(std::move(known).error());
        top.device = known->device;
        top.inode = known->inode;
    }
    levels_.push_back(std::move(top));
    co_return {};
}

std::optional<entry> walker::take() {
    level& top = levels_.back();
    const auto found = top.batch.next();
    if (!found) return std::nullopt;
    entry e;
    e.path.reserve(path_.size() + 1 + found->name.size());
    e.path = path_;
    if (!e.path.ends_with('/')) e.path += '/';
    e.name_at = e.path.size();
    e.path += found->name;
    e.kind = found->kind;
    e.link = found->kind == file_kind::symlink;
    e.inode = found->inode;
    e.depth = static_cast<unsigned>(levels_.size() - 1);
    return e;
}

task<std::expected<std::optional<entry>, error>> walker::read_more() {
    level& top = levels_.back();
    auto size = co_await as_result(top.batch.fill(top.directory));
    if (size && *size != 0) {
        top.batch.filled(*size);
        co_return std::nullopt;
    }
    std::optional<entry> failed;
    if (!size) {
        entry e{.path = path_, .kind = file_kind::directory};
        e.name_at = path_.rfind('/') + 1;
        // The depth that its entry in the parent had; the first has none.
        e.depth = levels_.size() < 2 ? 0 : static_cast<unsigned>(levels_.size() - 2);
        auto reported = with_problem(e, std::move(size).error());
        if (!reported) co_return std::unexpected(std::move(reported).error());
        failed = std::move(e);
    }
    levels_.pop_back();
    if (!levels_.empty()) path_.resize(levels_.back().path_size);
    co_return failed;
}

task<result> walker::look_at(entry& e) {
    if (e.kind == file_kind::unknown || e.link) {
        auto found = co_await find_kind(e);
        if (!found || e.problem) co_return found;
    }
    if (!e.is_directory() || e.depth >= options_.depth) co_return {};
    if (options_.enter && !options_.enter(e)) co_return {};
    if (levels_.size() >= options_.levels) {
        co_return with_problem(e, error(errc::limit_exceeded, "walk_options::levels"));
    }
    co_return co_await enter(e);
}

task<result> walker::find_kind(entry& e) {
    const file& directory = levels_.back().directory;
    if (e.kind == file_kind::unknown) {
        auto known = co_await as_result(link_status_at(directory, std::string(e.name())));
        if (!known) co_return with_problem(e, std::move(known).error());
        e.kind = known->kind;
        e.link = known->kind == file_kind::symlink;
    }
    if (!e.link || !options_.follow) co_return {};
    status_operation target(directory.fd(), std::string(e.name()), true);
    auto known = co_await as_result(target);
    if (known) e.kind = known->kind;
    // A broken link is reported as a link.
    if (known || !coracle::detail::is_cancellation(known.error())) co_return {};
    co_return std::unexpected(std::move(known).error());
}

task<result> walker::enter(entry& e) {
    open_flags how = read_only | open_flags::directory;
    if (!e.link) how |= open_flags::no_follow;
    auto directory =
        co_await as_result(open_at(levels_.back().directory, std::string(e.name()), how));
    if (!directory) co_return with_problem(e, std::move(directory).error());
    level below{std::move(*directory), e.path.size()};
    if (options_.follow) {
        auto safe = co_await refuse_loop(below, e);
        if (!safe || e.problem) co_return safe;
    }
    path_ = e.path;
    levels_.push_back(std::move(below));
    co_return {};
}

task<result> walker::refuse_loop(level& below, entry& e) {
    auto known = co_await as_result(below.directory.status());
    if (!known) co_return with_problem(e, std::move(known).error());
    below.device = known->device;
    below.inode = known->inode;
    for (const level& above : levels_) {
        if (above.device != below.device || above.inode != below.inode) continue;
        co_return with_problem(e, error(std::errc::too_many_symbolic_link_levels, "walk"));
    }
    co_return {};
}

}  // namespace

async_generator<entry> walk(std::string path, walk_options options) {
    walker w(std::move(path), std::move(options));
    auto done = co_await w.begin();
    while (done && !w.ended()) {
        std::optional<entry> next = w.take();
        if (!next) {
            auto more = co_await w.read_more();
            if (!more) {
                done = std::unexpected(std::move(more).error());
                break;
            }
            next = std::move(*more);
        } else if (w.must_look_at(*next)) {
            done = co_await w.look_at(*next);
        }
        if (done && next) co_yield std::move(*next);
    }
    if (done) co_return;
    co_await coracle::detail::end_if_cancelled(done.error());
    throw_exception(std::move(done).error());
}

async_generator<entry> list(std::string path) {
    walk_options flat;
    flat.depth = 0;
    return walk(std::move(path), std::move(flat));
}

}  // namespace coracle::fs
