#include "fs/replacement.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;
using count = std::expected<std::uint64_t, error>;

error wrong(std::errc code, const char* verb, const std::string& path) {
    error e(code, verb);
    return std::move(e.on(path));
}

// ---- one file -----------------------------------------------------------------------------------

byte_operation copying(const file& from, const file& to, std::uint64_t offset) {
    byte_operation op(file_action::copy_range, "copy_file", to.path());
    op.fd = from.fd();
    op.other_fd = to.fd();
    op.offset = offset;
    op.other_offset = offset;
    op.size = most_bytes_a_call;
    return op;
}

/// The files are on different file systems, the file system cannot do it, or the content is
/// generated on reading (/proc).
bool must_go_through_memory(const error& e) noexcept {
    return e == std::errc::cross_device_link || e == std::errc::invalid_argument ||
           e == std::errc::operation_not_supported || e == std::errc::function_not_supported ||
           e == std::errc::operation_not_permitted;
}

/// Moves the bytes of one open file into another.
class file_copier {
public:
    file_copier(const file& from, const file& to) noexcept : from_(from), to_(to) {}

    std::uint64_t copied() const noexcept { return copied_; }
    /// Copies a piece and returns its size; 0 at the end.
    task<count> step();

private:
    task<count> copy_through_memory();
    static constexpr std::size_t room_size = 256 * 1024;

    const file& from_;
    const file& to_;
    std::uint64_t copied_ = 0;
    std::unique_ptr<char[]> room_;
};

task<count> file_copier::step() {
    if (!room_) {
        auto n = co_await as_result(copying(from_, to_, copied_));
        if (!n && !must_go_through_memory(n.error()))
            co_return std::unexpected(std::move(n).error());
        if (n) copied_ += *n;
        if (n && *n != 0) co_return *n;
    }
    // Also at the end: only reading shows if there is nothing, or nothing that it can copy.
    co_return co_await copy_through_memory();
}

task<count> file_copier::copy_through_memory() {
    if (!room_) room_ = std::make_unique_for_overwrite<char[]>(room_size);
    auto n = co_await as_result(from_.read_at(copied_, {room_.get(), room_size}));
    if (!n) co_return std::unexpected(std::move(n).error());
    auto written = co_await as_result(to_.write_at(copied_, {room_.get(), *n}));
    if (!written) co_return std::unexpected(std::move(written).error());
    copied_ += *n;
    co_return *n;
}

task<result> copy_content(const file& from, const file& to, const file_status& known,
                          copy_options& options) {
    file_copier copier(from, to);
    for (;;) {
        auto n = co_await copier.step();
        if (!n) co_return std::unexpected(std::move(n).error());
        if (*n == 0) break;
        if (options.progress) options.progress(copier.copied(), known.size);
    }
    auto permitted = co_await as_result(to.set_mode(known.mode & 0777U));
    if (!permitted || !options.keep_times) co_return permitted;
    co_return co_await as_result(to.set_times(known.accessed_ns, known.modified_ns));
}

/// The treatment of links at the end of paths. In a tree none is followed: whoever may write there
/// could have it read and written elsewhere.
enum class last_link : std::uint8_t { follow, keep };

task<std::expected<std::string, error>> destination(std::string to, bool overwrite,
                                                    last_link links) {
    std::expected<std::string, error> target = to;
    if (links == last_link::follow) target = co_await detail::follow_links(std::move(to));
    if (!target) co_return target;
    auto there = co_await as_result(link_status(*target));
    if (there && there->kind == file_kind::directory) {
        co_return std::unexpected(wrong(std::errc::is_a_directory, "copy_file", *target));
    }
    if (there && !overwrite) {
        co_return std::unexpected(wrong(std::errc::file_exists, "copy_file", *target));
    }
    if (there && there->kind != file_kind::regular && there->kind != file_kind::symlink) {
        co_return std::unexpected(wrong(std::errc::operation_not_supported, "copy_file", *target));
    }
    if (!there && there.error() != std::errc::no_such_file_or_directory) {
        co_return std::unexpected(std::move(there).error());
    }
    co_return target;
}

task<count> copy_one(std::string from, std::string to, copy_options& options,
                     last_link links = last_link::follow) {
    const bool stays = links == last_link::keep;
    auto opening = open(from, stays ? read_only | open_flags::no_follow : read_only);
    auto original = co_await as_result(opening);
    if (!original) co_return std::unexpected(std::move(original).error());
    auto known = co_await as_result(original->status());
    if (!known) co_return std::unexpected(std::move(known).error());
    if (known->kind != file_kind::regular) {
        co_return std::unexpected(wrong(std::errc::invalid_argument, "copy_file", from));
    }
    auto target = co_await destination(std::move(to), options.overwrite, links);
    if (!target) co_return std::unexpected(std::move(target).error());

    detail::replacement copy;
    auto done = co_await copy.begin(std::move(*target), 0600);
    if (!done) co_return std::unexpected(std::move(done).error());
    std::exception_ptr thrown;  // by `options.progress`
    try {
        done = co_await copy_content(*original, copy.content(), *known, options);
    } catch (...) {
        thrown = std::current_exception();
    }
    if (thrown != nullptr) {
        co_await copy.abandon();
        std::rethrow_exception(thrown);
    }
    std::uint64_t size = 0;
    if (done) {
        auto made = co_await as_result(copy.content().status());
        if (made) size = made->size;
        const renaming how = options.overwrite ? renaming::replace : renaming::no_replace;
        done = co_await copy.commit(how, options.durable);
    }
    if (done) co_return size;
    co_await copy.abandon();
    co_return std::unexpected(std::move(done).error());
}

task<count> copy_alone(std::string from, std::string to, copy_options options) {
    co_return co_await copy_one(std::move(from), std::move(to), options);
}

// ---- a tree -------------------------------------------------------------------------------------

class tree_copier {
public:
    tree_copier(std::string from, std::string to, copy_options options)
        : from_(std::move(from)), to_(std::move(to)), options_(std::move(options)) {}

    task<std::expected<copied_tree, error>> run();

private:
    task<result> copy_entries();
    task<> leave_directories();
    task<result> make_above();
    task<result> make_root();
    task<result> copy_entry(const entry& e);
    task<result> copy_directory(const entry& e, std::string to);
    task<result> put_in_place_of_link(const std::string& to);
    task<result> copy_link(const entry& e, std::string to);
    task<result> replace_by_link(const std::string& target, const std::string& to);
    task<result> finish_directories();

    struct filled_directory {
        std::string path;
        /// The status of the original; empty for a directory that this copy has not made, which
        /// stays as it is.
        std::optional<file_status> known{};
    };
    task<result> finish(const filled_directory& d);

    std::string from_;
    std::string to_;
    copy_options options_;
    file_status root_;  ///< of `to_`
    /// Directories get their permissions last, because they may forbid writing.
    std::vector<filled_directory> filled_;
    copied_tree report_;
};

task<std::expected<copied_tree, error>> tree_copier::run() {
    std::exception_ptr thrown;  // by `options.progress`
    result done;
    try {
        done = co_await copy_entries();
        if (done) done = co_await finish_directories();
    } catch (...) {
        thrown = std::current_exception();
    }
    if (!done || thrown != nullptr) co_await leave_directories();
    if (thrown != nullptr) std::rethrow_exception(thrown);
    if (!done) co_return std::unexpected(std::move(done).error());
    co_return report_;
}

task<result> tree_copier::copy_entries() {
    auto done = co_await make_root();
    auto all = walk(from_);
    while (done) {
        auto next = co_await as_result(all.next());
        if (!next) co_return std::unexpected(std::move(next).error());
        if (!*next) break;
        done = co_await copy_entry(**next);
    }
    co_return done;
}

/// Gives what was made the permissions of its originals, and its owner leave to go on: a later copy
/// leaves directories as they are. Also in a cancelled task; what cannot be had stays as it is.
task<> tree_copier::leave_directories() {
    const auto leaves = [this]() -> task<> {
        for (; !filled_.empty(); filled_.pop_back()) {
            const filled_directory& d = filled_.back();
            if (!d.known) continue;
            auto op = set_mode(d.path, (d.known->mode & 01777U) | 0700U);
            static_cast<void>(co_await as_result(op));
        }
    };
    static_cast<void>(co_await as_result(shielded(detail::cleanup_limit, leaves)));
}

std::string above(const std::string& path) {
    std::size_t end = path.rfind('/');
    if (end == std::string::npos) return ".";
    while (end != 0 && path[end - 1] == '/') --end;
    return end == 0 ? "/" : path.substr(0, end);
}

/// Makes the missing directories of the path `to_`. Records the directory of the first new one, and
/// that of `to_` itself.
task<result> tree_copier::make_above() {
    std::vector<std::string> missing;
    std::string at = above(to_);
    for (;; at = above(at)) {
        auto there = co_await as_result(exists(at));
        if (!there) co_return std::unexpected(std::move(there).error());
        if (*there) break;
        missing.push_back(at);
    }
    filled_.push_back({std::move(at)});
    for (; !missing.empty(); missing.pop_back()) {
        auto made = co_await as_result(make_directories(missing.back()));
        if (!made) co_return made;
        filled_.push_back({missing.back()});
    }
    co_return {};
}

task<result> tree_copier::make_root() {
    auto original = co_await as_result(status(from_));
    if (!original) co_return std::unexpected(std::move(original).error());
    if (original->kind != file_kind::directory) {
        co_return std::unexpected(wrong(std::errc::not_a_directory, "copy_tree", from_));
    }
    auto done = co_await make_above();
    if (!done) co_return done;
    auto made = co_await as_result(make_directory(to_, 0700));
    if (!made && made.error() != std::errc::file_exists) co_return made;
    // At once: whatever fails from now on, it gets its permissions.
    if (made) filled_.push_back({to_, *original});
    auto known = co_await as_result(status(to_));
    if (!known) co_return std::unexpected(std::move(known).error());
    root_ = *known;
    if (known->kind != file_kind::directory) co_return made;
    if (root_.inode == original->inode && root_.device == original->device) {
        co_return std::unexpected(wrong(std::errc::invalid_argument, "copy_tree", to_));
    }
    if (!made) {
        // This copy has made nothing in the parent, so the parent need not be finished.
        if (filled_.size() == 1) filled_.clear();
        filled_.push_back({to_});
    }
    ++report_.directories;
    co_return {};
}

task<result> tree_copier::copy_entry(const entry& e) {
    if (e.problem) co_return std::unexpected(*e.problem);
    std::string to = to_;
    to.append(e.path, from_ == "/" ? 0 : from_.size());
    switch (e.kind) {
        case file_kind::directory: co_return co_await copy_directory(e, std::move(to));
        case file_kind::symlink: co_return co_await copy_link(e, std::move(to));
        case file_kind::regular: {
            auto bytes = co_await copy_one(e.path, std::move(to), options_, last_link::keep);
            if (!bytes) co_return std::unexpected(std::move(bytes).error());
            ++report_.files;
            report_.bytes += *bytes;
            co_return {};
        }
        default: ++report_.skipped; co_return {};
    }
}

/// Makes a directory in place of a link. Cancelled amid it, it goes on: else neither would be
/// there.
task<result> tree_copier::put_in_place_of_link(const std::string& to) {
    const auto replaces = [&to]() -> task<> {
        co_await remove(to);
        co_await make_directory(to, 0700);
    };
    co_return co_await as_result(shielded(detail::cleanup_limit, replaces));
}

task<result> tree_copier::copy_directory(const entry& e, std::string to) {
    auto known = co_await as_result(link_status(e.path));
    if (!known) co_return std::unexpected(std::move(known).error());
    if (known->inode == root_.inode && known->device == root_.device) {
        co_return std::unexpected(wrong(std::errc::invalid_argument, "copy_tree", to_));
    }
    auto made = co_await as_result(make_directory(to, 0700));
    ++report_.directories;
    filled_directory filled{to};
    if (made) {
        filled.known = *known;
    } else {
        if (made.error() != std::errc::file_exists) co_return made;
        auto there = co_await as_result(link_status(to));
        if (!there) co_return std::unexpected(std::move(there).error());
        if (there->kind == file_kind::symlink && options_.overwrite) {
            made = co_await put_in_place_of_link(to);
            if (!made) co_return made;
            filled.known = *known;
        } else if (there->kind != file_kind::directory) {
            co_return made;
        }
    }
    filled_.push_back(std::move(filled));
    co_return {};
}

/// Makes the link beside `to`, which it then replaces: at no moment there is none.
task<result> tree_copier::replace_by_link(const std::string& target, const std::string& to) {
    std::string beside = detail::name_beside(to);
    auto made = co_await as_result(symlink(target, beside));
    if (made) made = co_await as_result(rename(beside, to));
    if (!made && made.error() != std::errc::file_exists) co_await detail::remove_temporary(beside);
    if (!made) made.error().on(to);
    co_return made;
}

task<result> tree_copier::copy_link(const entry& e, std::string to) {
    auto target = co_await as_result(read_link(e.path));
    if (!target) co_return std::unexpected(std::move(target).error());
    auto made = co_await as_result(symlink(*target, to));
    if (!made && options_.overwrite && made.error() == std::errc::file_exists) {
        made = co_await replace_by_link(*target, to);
    }
    if (!made) co_return made;
    ++report_.links;
    if (!options_.keep_times) co_return {};
    auto known = co_await as_result(link_status(e.path));
    if (!known) co_return std::unexpected(std::move(known).error());
    auto timing = set_times(std::move(to), known->accessed_ns, known->modified_ns);
    timing.flags = AT_SYMLINK_NOFOLLOW;
    co_return co_await as_result(timing);
}

task<result> tree_copier::finish(const filled_directory& d) {
    file opened;
    if (options_.durable) {
        // Done while its permissions still allow it.
        auto op = open(d.path, read_only | open_flags::directory);
        auto directory = co_await as_result(op);
        if (!directory) co_return std::unexpected(std::move(directory).error());
        opened = std::move(*directory);
    }
    if (d.known && options_.keep_times) {
        auto op = set_times(d.path, d.known->accessed_ns, d.known->modified_ns);
        auto timed = co_await as_result(op);
        if (!timed) co_return timed;
    }
    if (d.known) {
        auto op = set_mode(d.path, d.known->mode & 01777U);
        auto permitted = co_await as_result(op);
        if (!permitted) co_return permitted;
    }
    if (!options_.durable) co_return {};
    auto synced = co_await as_result(opened.sync());
    // Some file systems cannot sync a directory, because they need not.
    if (!synced && synced.error() != std::errc::invalid_argument) co_return synced;
    co_return {};
}

/// Finishes from the bottom up: once a directory has its final permissions, those below it may be
/// out of reach.
task<result> tree_copier::finish_directories() {
    for (; !filled_.empty(); filled_.pop_back()) {
        auto done = co_await finish(filled_.back());
        if (!done) co_return done;
    }
    co_return {};
}

task<std::expected<copied_tree, error>> copy_all(std::string from, std::string to,
                                                 copy_options options) {
    // The names below are appended to both, which may end with slashes.
    while (from.size() > 1 && from.ends_with('/')) from.pop_back();
    while (to.size() > 1 && to.ends_with('/')) to.pop_back();
    tree_copier copier(std::move(from), std::move(to), std::move(options));
    co_return co_await copier.run();
}

}  // namespace

operation<std::uint64_t> copy_file(std::string from, std::string to, copy_options options) {
    return copy_alone(std::move(from), std::move(to), std::move(options));
}

operation<copied_tree> copy_tree(std::string from, std::string to, copy_options options) {
    return copy_all(std::move(from), std::move(to), std::move(options));
}

}  // namespace coracle::fs
