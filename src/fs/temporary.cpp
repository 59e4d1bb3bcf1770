#include "base/ascii.hpp"
#include "fs/replacement.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>

#include <cstdlib>
#include <utility>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;

constexpr int most_tries = 8;

/// Removes the file of an object that is destroyed before it was removed.
task<> clean_up(std::string path) {
    const auto removes = [&] { return remove_all(path); };
    auto done = co_await as_result(shielded(detail::cleanup_limit, removes));
    if (done) co_return;
    loop::current()->log().write(log_layer::runtime, log_level::warning, done.error().message());
}

void clean_up_somehow(std::string path) noexcept {
    try {
        const auto cleans = [path = std::move(path)] { return clean_up(path); };
        if (loop::current() != nullptr)
            spawn(cleans);
        else
            block_on(cleans);
    } catch (const std::exception&) {
        return;  // no memory: it stays
    }
}

std::string random_name(std::string directory, std::string_view prefix) {
    if (!directory.ends_with('/')) directory += '/';
    directory.append(prefix);
    coracle::detail::append_hex(directory, loop::current()->random());
    return directory;
}

}  // namespace

std::string temporary_path() {
    const char* const said = std::getenv("TMPDIR");
    return said != nullptr && *said != '\0' ? said : "/tmp";
}

// ---- files --------------------------------------------------------------------------------------

temporary_file::temporary_file(temporary_file&& other) noexcept
    : file_(std::move(other.file_)), name_(std::exchange(other.name_, {})) {}

temporary_file& temporary_file::operator=(temporary_file&& other) noexcept {
    temporary_file taken(std::move(other));
    std::swap(file_, taken.file_);
    std::swap(name_, taken.name_);
    return *this;
}

temporary_file::~temporary_file() {
    if (!name_.empty()) clean_up_somehow(std::move(name_));
}

namespace {

bool has_no_nameless_files(const error& e) noexcept {
    // Old kernels take the flag for O_DIRECTORY, which is not opened for writing.
    return e == std::errc::operation_not_supported || e == std::errc::is_a_directory ||
           e == std::errc::invalid_argument;
}

struct opened_file {
    file content;
    std::string name;
};

task<std::expected<opened_file, error>> open_temporary(std::string directory) {
    auto nameless = co_await as_result(open(directory, read_write | open_flags::temporary, 0600));
    if (nameless) co_return opened_file{std::move(*nameless), {}};
    if (!has_no_nameless_files(nameless.error())) {
        co_return std::unexpected(std::move(nameless).error());
    }
    error last;
    for (int i = 0; i != most_tries; ++i) {
        std::string name = random_name(directory, ".coracle-");
        auto made = co_await as_result(open(name, read_write | create_new, 0600));
        if (made) co_return opened_file{std::move(*made), std::move(name)};
        last = std::move(made).error();
        if (last != std::errc::file_exists) break;
    }
    co_return std::unexpected(std::move(last));
}

plain_operation linking(const file& content, std::string from, std::string to, int flags) {
    plain_operation op(file_action::link, "link_as", std::move(from), std::move(to));
    op.fd = content.fd();
    op.other_fd = AT_FDCWD;
    op.flags = static_cast<unsigned>(flags);
    return op;
}

task<result> link_nameless(const file& content, std::string to) {
    // Only privileged processes may link a descriptor itself; all may link its name in /proc.
    auto done = co_await as_result(linking(content, "", to, AT_EMPTY_PATH));
    if (done || done.error() == std::errc::file_exists) co_return done;
    std::string alias = "/proc/self/fd/";
    alias += std::to_string(content.fd());
    auto again = co_await as_result(linking(content, std::move(alias), to, AT_SYMLINK_FOLLOW));
    if (!again) co_return std::unexpected(std::move(again.error().on(to)));
    co_return {};
}

task<result> give_name(const file& content, std::string& name, std::string to, unsigned mode) {
    auto permitted = co_await as_result(content.set_mode(mode));
    if (!permitted) co_return permitted;
    if (name.empty()) co_return co_await link_nameless(content, std::move(to));
    auto linked = co_await as_result(link(name, std::move(to)));
    if (!linked) co_return linked;
    // The file has its name: the other one is removed at the end at the latest.
    auto removed = co_await as_result(remove(name));
    if (removed) name.clear();
    co_return {};
}

}  // namespace

operation<void> temporary_file::link_as(std::string path, unsigned mode) {
    return give_name(file_, name_, std::move(path), mode);
}

struct temporary_file::maker {
    static task<std::expected<temporary_file, error>> make(std::string directory) {
        auto opened = co_await open_temporary(std::move(directory));
        if (!opened) co_return std::unexpected(std::move(opened).error());
        temporary_file f;
        f.file_ = std::move(opened->content);
        f.name_ = std::move(opened->name);
        co_return f;
    }
};

operation<temporary_file> make_temporary_file(std::string directory) {
    return temporary_file::maker::make(std::move(directory));
}

// ---- directories --------------------------------------------------------------------------------

temporary_directory::temporary_directory(temporary_directory&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

temporary_directory& temporary_directory::operator=(temporary_directory&& other) noexcept {
    if (this == &other) return *this;
    drop();
    path_ = std::exchange(other.path_, {});
    return *this;
}

void temporary_directory::drop() noexcept {
    if (!path_.empty()) clean_up_somehow(std::exchange(path_, {}));
}

std::string temporary_directory::operator/(std::string_view name) const {
    std::string text = path_;
    return text.append("/").append(name);
}

std::string temporary_directory::keep() noexcept {
    return std::exchange(path_, {});
}

namespace {

task<result> remove_now(std::string& path) {
    if (path.empty()) co_return {};
    auto done = co_await as_result(remove_all(path));
    if (!done) co_return std::unexpected(std::move(done).error());
    path.clear();
    co_return {};
}

task<std::expected<std::string, error>> make_directory_in(std::string directory,
                                                          std::string prefix) {
    error last;
    for (int i = 0; i != most_tries; ++i) {
        std::string path = random_name(directory, prefix);
        auto made = co_await as_result(make_directory(path, 0700));
        if (made) co_return path;
        last = std::move(made).error();
        if (last != std::errc::file_exists) break;
    }
    co_return std::unexpected(std::move(last));
}

}  // namespace

operation<void> temporary_directory::remove() {
    return remove_now(path_);
}

struct temporary_directory::maker {
    static task<std::expected<temporary_directory, error>> make(std::string directory,
                                                                std::string prefix) {
        auto path = co_await make_directory_in(std::move(directory), std::move(prefix));
        if (!path) co_return std::unexpected(std::move(path).error());
        temporary_directory d;
        d.path_ = std::move(*path);
        co_return d;
    }
};

operation<temporary_directory> make_temporary_directory(std::string directory, std::string prefix) {
    return temporary_directory::maker::make(std::move(directory), std::move(prefix));
}

}  // namespace coracle::fs
