#include "fs/replacement.hpp"

#include "base/ascii.hpp"

#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <chrono>
#include <exception>
#include <utility>

namespace coracle::fs::detail {
namespace {

std::size_t end_of_directory(const std::string& path) noexcept {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? 0 : slash + 1;
}

}  // namespace

std::string directory_of(const std::string& path) {
    const std::size_t end = end_of_directory(path);
    return end == 0 ? "." : path.substr(0, end);
}

std::string name_beside(const std::string& path) {
    // The name has at most 255 bytes, including all additions.
    constexpr std::size_t longest = 200;
    const std::size_t name = end_of_directory(path);
    std::string text = path.substr(0, name);
    text.append(".").append(path, name, longest).append(".");
    coracle::detail::append_hex(text, loop::current()->random());
    return text.append(".tmp");
}

task<std::expected<std::string, error>> follow_links(std::string path) {
    // Below, invalid_argument means that it is not a link.
    if (holds_nul(path)) {
        error none(std::errc::invalid_argument, "open");
        co_return std::unexpected(std::move(none.on(path)));
    }
    constexpr int most = 40;  // as the kernel does
    for (int i = 0; i != most; ++i) {
        auto target = co_await as_result(read_link(path));
        if (target) {
            path =
                target->starts_with('/') ? std::move(*target) : directory_of(path).append(*target);
            continue;
        }
        const error& e = target.error();
        if (e == std::errc::invalid_argument || e == std::errc::no_such_file_or_directory) {
            co_return path;
        }
        co_return std::unexpected(std::move(target).error());
    }
    error e(std::errc::too_many_symbolic_link_levels, "read_link");
    co_return std::unexpected(std::move(e.on(path)));
}

task<std::expected<std::string, error>> replaceable(std::string path) {
    auto target = co_await follow_links(std::move(path));
    if (!target) co_return target;
    auto asking = link_status(*target);
    auto there = co_await as_result(asking);
    if (!there && there.error() != std::errc::no_such_file_or_directory) {
        co_return std::unexpected(std::move(there).error());
    }
    if (!there || there->kind == file_kind::regular) co_return target;
    error e(there->kind == file_kind::directory ? std::errc::is_a_directory
                                                : std::errc::operation_not_supported,
            "replace");
    co_return std::unexpected(std::move(e.on(*target + ", which is no file")));
}

task<> remove_temporary(std::string name) {
    const auto removes = [&] { return remove(name); };
    static_cast<void>(co_await as_result(shielded(cleanup_limit, removes)));
}

replacement::~replacement() {
    if (temporary_.empty() || loop::current() == nullptr) return;
    try {
        spawn([name = std::move(temporary_)] { return remove_temporary(name); });
    } catch (const std::exception&) {
        return;  // no memory: it stays
    }
}

task<replacement::result> replacement::begin(std::string target, unsigned mode) {
    constexpr int most_tries = 8;
    target_ = std::move(target);
    for (int i = 0; i != most_tries; ++i) {
        std::string name = name_beside(target_);
        auto made = co_await as_result(open(name, read_write | create_new, mode));
        if (made) {
            temporary_ = std::move(name);
            // Errors name the final path, not the temporary one, which is gone when they are read.
            content_ = file::adopt(made->release(), target_);
            co_return {};
        }
        if (made.error() == std::errc::file_exists) continue;
        error e = std::move(made).error();
        // An interrupted call may have succeeded.
        if (coracle::detail::is_cancellation(e)) co_await remove_temporary(std::move(name));
        e.on(target_);
        co_return std::unexpected(e);
    }
    error e(std::errc::file_exists, "open");
    co_return std::unexpected(std::move(e.on(target_)));
}

task<replacement::result> replacement::commit(renaming how, bool durable) {
    if (durable) {
        auto synced = co_await as_result(content_.sync());
        if (!synced) co_return synced;
    }
    if (content_.is_open()) {
        auto closed = co_await as_result(content_.close());
        if (!closed) co_return closed;
    }
    auto named = co_await give_name(how);
    if (!named) co_return std::unexpected(std::move(named.error().on(target_)));
    if (!durable) co_return named;
    co_return co_await as_result(sync_directory(directory_of(target_)));
}

task<replacement::result> replacement::give_name(renaming how) {
    auto renamed = co_await as_result(rename(temporary_, target_, how));
    if (renamed) temporary_.clear();
    const bool cannot =
        !renamed && how == renaming::no_replace && renamed.error() == std::errc::invalid_argument;
    if (!cannot) co_return renamed;
    // If the file system does not support that flag, makes a hard link, which never replaces.
    auto linked = co_await as_result(link(temporary_, target_));
    if (linked) co_await abandon();
    co_return linked;
}

task<void> replacement::abandon() {
    content_ = file();
    // After a rename there is none any more.
    if (!temporary_.empty()) co_await remove_temporary(std::exchange(temporary_, {}));
}

}  // namespace coracle::fs::detail
