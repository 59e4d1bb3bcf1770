#include <coracle/fs/names.hpp>

#include <fcntl.h>

#include <cerrno>
#include <utility>
#include <vector>

namespace coracle::fs {
namespace {

plain_operation on_name(file_action a, const char* verb, int from, std::string path) {
    plain_operation op(a, verb, std::move(path));
    op.fd = from;
    return op;
}

plain_operation on_names(file_action a, const char* verb, std::string path, std::string other) {
    plain_operation op(a, verb, std::move(path), std::move(other));
    op.fd = AT_FDCWD;
    op.other_fd = AT_FDCWD;
    return op;
}

plain_operation making(int from, std::string path, unsigned mode) {
    auto op = on_name(file_action::make_directory, "make_directory", from, std::move(path));
    op.mode = mode;
    return op;
}

// The flags of renameat2(2), which <fcntl.h> does not have everywhere.
unsigned system_flags(renaming how) noexcept {
    switch (how) {
        case renaming::replace: return 0;
        case renaming::no_replace: return 1;
        case renaming::exchange: return 2;
    }
    return 0;
}

}  // namespace

// ---- directories --------------------------------------------------------------------------------

plain_operation make_directory(std::string path, unsigned mode) {
    return making(AT_FDCWD, std::move(path), mode);
}

plain_operation make_directory_at(const file& directory, std::string path, unsigned mode) {
    return making(directory.fd(), std::move(path), mode);
}

namespace {

/// Returns the end of the directory above the first `end` bytes of a path; 0 when none is named.
std::size_t end_of_parent(const std::string& path, std::size_t end) noexcept {
    while (end != 0 && path[end - 1] == '/') --end;
    while (end != 0 && path[end - 1] != '/') --end;
    while (end != 0 && path[end - 1] == '/') --end;
    return end;
}

task<std::expected<void, error>> must_be_directory(const std::string& path) {
    auto now = co_await as_result(status(path));
    if (!now) co_return std::unexpected(std::move(now).error());
    if (now->kind == file_kind::directory) co_return {};
    error e(std::errc::file_exists, "make_directory");
    co_return std::unexpected(std::move(e.on(path)));
}

task<std::expected<void, error>> make_all(std::string path, unsigned mode) {
    std::vector<std::size_t> missing = {path.size()};
    bool last_was_there = false;
    // Up to the first that is there or can be made, then down again.
    for (bool up = true; !missing.empty();) {
        const std::size_t end = missing.back();
        auto made = co_await as_result(make_directory(path.substr(0, end), mode));
        last_was_there = !made && made.error() == std::errc::file_exists;
        const std::size_t above = end_of_parent(path, end);
        if (made || last_was_there) {
            up = false;
            missing.pop_back();
        } else if (up && above != 0 && made.error() == std::errc::no_such_file_or_directory) {
            missing.push_back(above);
        } else {
            co_return std::unexpected(std::move(made).error());
        }
    }
    if (last_was_there) co_return co_await must_be_directory(path);
    co_return {};
}

}  // namespace

operation<void> make_directories(std::string path, unsigned mode) {
    return make_all(std::move(path), mode);
}

namespace {

task<std::expected<void, error>> sync_names(std::string path) {
    const open_flags how = read_only | open_flags::directory;
    auto directory = co_await as_result(open(std::move(path), how));
    if (!directory) co_return std::unexpected(std::move(directory).error());
    auto done = co_await as_result(directory->sync());
    // Some file systems cannot sync a directory, because they need not.
    if (!done && done.error() != std::errc::invalid_argument) co_return done;
    co_return {};
}

}  // namespace

operation<void> sync_directory(std::string path) {
    return sync_names(std::move(path));
}

// ---- names --------------------------------------------------------------------------------------

plain_operation remove(std::string path) {
    return on_name(file_action::remove, "remove", AT_FDCWD, std::move(path));
}

plain_operation remove_at(const file& directory, std::string path) {
    return on_name(file_action::remove, "remove", directory.fd(), std::move(path));
}

plain_operation remove_directory(std::string path) {
    auto op = on_name(file_action::remove, "remove_directory", AT_FDCWD, std::move(path));
    op.flags = AT_REMOVEDIR;
    return op;
}

plain_operation rename(std::string from, std::string to, renaming how) {
    auto op = on_names(file_action::rename, "rename", std::move(from), std::move(to));
    op.flags = system_flags(how);
    return op;
}

plain_operation link(std::string existing, std::string name) {
    return on_names(file_action::link, "link", std::move(existing), std::move(name));
}

plain_operation symlink(std::string target, std::string name) {
    return on_names(file_action::symlink, "symlink", std::move(target), std::move(name));
}

namespace {

task<std::expected<std::string, error>> read_target(std::string path) {
    if (detail::holds_nul(path)) {
        error none(std::errc::invalid_argument, "read_link");
        co_return std::unexpected(std::move(none.on(path)));
    }
    constexpr std::size_t longest = 4096;  // PATH_MAX
    std::string text(longest, '\0');
    slice room(text);
    byte_operation op(file_action::read_link, "read_link", path);
    op.fd = AT_FDCWD;
    op.path = path.c_str();
    op.pieces = std::span<slice>(&room, 1);
    auto size = co_await as_result(op);
    if (!size) co_return std::unexpected(std::move(size).error());
    text.resize(*size);
    co_return text;
}

}  // namespace

operation<std::string> read_link(std::string path) {
    return read_target(std::move(path));
}

// ---- what is said of them -----------------------------------------------------------------------

status_operation status(std::string path) {
    return {AT_FDCWD, std::move(path), true};
}

status_operation link_status(std::string path) {
    return {AT_FDCWD, std::move(path), false};
}

status_operation link_status_at(const file& directory, std::string path) {
    return {directory.fd(), std::move(path), false};
}

namespace {

task<std::expected<bool, error>> leads_somewhere(std::string path) {
    auto found = co_await as_result(status(std::move(path)));
    if (found) co_return true;
    const error& e = found.error();
    if (e == std::errc::no_such_file_or_directory || e == std::errc::not_a_directory) {
        co_return false;
    }
    co_return std::unexpected(std::move(found).error());
}

}  // namespace

operation<bool> exists(std::string path) {
    return leads_somewhere(std::move(path));
}

plain_operation set_mode(std::string path, unsigned mode) {
    auto op = on_name(file_action::set_mode, "set_mode", AT_FDCWD, std::move(path));
    op.mode = mode;
    return op;
}

plain_operation set_times(std::string path, std::int64_t accessed_ns, std::int64_t modified_ns) {
    auto op = on_name(file_action::set_times, "set_times", AT_FDCWD, std::move(path));
    op.offset = static_cast<std::uint64_t>(accessed_ns);
    op.size = static_cast<std::uint64_t>(modified_ns);
    return op;
}

}  // namespace coracle::fs
