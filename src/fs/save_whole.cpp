#include "fs/save_whole.hpp"

#include "fs/file_writer.hpp"
#include "runtime/without_sigpipe.hpp"

#include <coracle/fs/file_call.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

namespace coracle::fs {
namespace {

using result = std::expected<void, error>;

std::unexpected<error> failed(int number, std::string_view path) {
    error e(std::error_code(number, std::generic_category()), "save");
    return std::unexpected(std::move(e.on(path)));
}

std::size_t end_of_directory(const std::string& path) noexcept {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? 0 : slash + 1;
}

/// Follows symbolic links to their final target, which need not exist. Returns false if they form a
/// loop.
bool follow_links(std::string& path) {
    constexpr int most = 40;  // as the kernel does
    for (int i = 0; i != most; ++i) {
        std::array<char, PATH_MAX> target;
        const ssize_t n = ::readlink(path.c_str(), target.data(), target.size());
        if (n < 0) return true;
        const bool is_absolute = n != 0 && target[0] == '/';
        path.resize(is_absolute ? 0 : end_of_directory(path));
        path.append(target.data(), static_cast<std::size_t>(n));
    }
    return false;
}

// Not created, not truncated: the existing file is not a regular one.
result write_to(const std::string& path, std::string_view bytes) {
    // A FIFO without a reader fails instead of waiting for one; then writing waits.
    const owned_fd fd(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    if (fd.get() < 0) return failed(errno, path);
    const int flags = ::fcntl(fd.get(), F_GETFL);
    if (flags < 0 || ::fcntl(fd.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) {
        return failed(errno, path);
    }
    const coracle::detail::without_sigpipe quiet;
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd.get(), bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int why = errno;
            if (why == EPIPE) quiet.take_signal();
            return failed(why, path);
        }
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

result replace(const std::string& path, std::string_view bytes, std::uint64_t random,
               unsigned mode) {
    const std::size_t name = end_of_directory(path);
    // Processes that were forked have the rest in common.
    random += static_cast<std::uint64_t>(::getpid()) << 24U;
    auto file = file_writer::create(name == 0 ? "." : path.substr(0, name), random, mode);
    if (!file) return std::unexpected(std::move(file).error());
    if (auto written = file->write(bytes); !written) {
        return std::unexpected(std::move(written.error().on(path)));
    }
    return file->commit(path.substr(name), if_exists::replace);
}

}  // namespace

std::expected<void, error> save_whole(const std::string& path, std::string_view bytes,
                                      std::uint64_t random, unsigned mode) {
    if (detail::holds_nul(path)) return failed(EINVAL, path);
    struct stat s{};
    // Before following links, because those of /proc may lead to files without a path.
    const bool is_there = ::stat(path.c_str(), &s) == 0;
    if (is_there && S_ISDIR(s.st_mode)) return failed(EISDIR, path);
    if (is_there && !S_ISREG(s.st_mode)) return write_to(path, bytes);
    std::string target = path;
    if (!follow_links(target)) return failed(ELOOP, path);
    return replace(target, bytes, random, mode);
}

}  // namespace coracle::fs
