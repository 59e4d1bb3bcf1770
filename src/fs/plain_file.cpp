#include "fs/next_in.hpp"
#include "fs/scattered_read.hpp"
#include "runtime/backend/statx_status.hpp"

#include <coracle/fs/file_call.hpp>
#include <coracle/fs/plain_file.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <memory>

namespace coracle::fs {
namespace {

// O_NONBLOCK: opening a FIFO returns at once. O_NOCTTY: a terminal does not become ours.
constexpr int reading = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

std::unexpected<error> failed(int number, std::string_view path) {
    error e(std::error_code(number, std::generic_category()), "open");
    return std::unexpected(std::move(e.on(path)));
}

int open_at(int directory_fd, const char* name, int flags) noexcept {
    int fd = -1;
    do {
        fd = ::openat(directory_fd, name, flags);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

int open_by_kernel(int root, const char* path, lookup where) noexcept {
    open_how how{};
    how.flags = static_cast<unsigned>(reading);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    if (where == lookup::cached) how.resolve |= RESOLVE_CACHED;
    // EAGAIN: a directory was renamed while the kernel resolved a ".." of a link.
    const int most = where == lookup::cached ? 1 : 16;
    long fd = -1;
    for (int tries = 0; fd < 0 && tries < most; ++tries) {
        fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd < 0 && errno != EINTR && errno != EAGAIN) break;
    }
    return static_cast<int>(fd);
}

// One step at a time, each from the descriptor of the last: no name is looked up twice, so a
// directory cannot be swapped for a link in between.
int open_by_walk(int root, std::string_view path) {
    owned_fd at(-1);
    int from = root;
    std::string name;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        const bool last = slash == std::string_view::npos;
        name = path.substr(0, slash);
        path = last ? std::string_view() : path.substr(slash + 1);
        if (name.empty()) continue;
        const int next =
            last ? open_at(from, name.c_str(), reading | O_NOFOLLOW)
                 : open_at(from, name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (next < 0 || last) return next;
        at.reset(next);
        from = at.get();
    }
    // The path was empty or ended with a slash.
    return open_at(from, ".", reading | O_DIRECTORY);
}

bool leads_out(std::string_view path) noexcept {
    if (path.starts_with('/')) return true;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        if (path.substr(0, slash) == "..") return true;
        path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
    }
    return false;
}

// Kernels before 5.6 return ENOSYS; sandboxes that do not know the call return EPERM, which opening
// for reading never does.
bool has_no_openat2(int number) noexcept {
    return number == ENOSYS || number == EPERM;
}

// Kernels before 5.12 return EINVAL for the unknown flag.
int open_cached(int root, std::string_view path, beneath_method how) {
    int fd = -1;
    if (how != beneath_method::walk) {
        const std::string text(path.empty() ? std::string_view(".") : path);
        fd = open_by_kernel(root, text.c_str(), lookup::cached);
    }
    const bool cannot = how == beneath_method::walk || errno == EINVAL || has_no_openat2(errno);
    if (fd < 0 && cannot) errno = EAGAIN;
    return fd;
}

int open_fd(int root, std::string_view path, beneath_method how) {
    if (how != beneath_method::walk) {
        const std::string text(path.empty() ? std::string_view(".") : path);
        const int fd = open_by_kernel(root, text.c_str(), lookup::complete);
        if (fd >= 0 || how == beneath_method::kernel || !has_no_openat2(errno)) return fd;
    }
    return open_by_walk(root, path);
}

bool take_status(const struct stat& s, file_status& status) noexcept {
    if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) {
        errno = ENXIO;
        return false;
    }
    status.kind = S_ISDIR(s.st_mode) ? file_kind::directory : file_kind::regular;
    status.size = static_cast<std::uint64_t>(s.st_size);
    status.modified_ns =
        coracle::detail::saturated_nanoseconds(s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
    status.inode = static_cast<std::uint64_t>(s.st_ino);
    status.device = static_cast<std::uint64_t>(s.st_dev);
    return true;
}

bool read_status(int fd, file_status& status) noexcept {
    struct stat s{};
    return ::fstat(fd, &s) == 0 && take_status(s, status);
}

struct directory_closer {
    void operator()(DIR* d) const noexcept { ::closedir(d); }
};

// Reads the status of an entry. Returns false if it is not to be served.
bool status_of_entry(const directory& root, const std::string& path, DIR* d, const char* name,
                     beneath_method how, file_status& status) {
    struct stat s{};
    if (::fstatat(::dirfd(d), name, &s, AT_SYMLINK_NOFOLLOW) != 0) return false;
    if (!S_ISLNK(s.st_mode)) return take_status(s, status);
    const auto target = open_beneath(root, path + name, how);
    if (target) status = target->status();
    return target.has_value();
}

}  // namespace

std::expected<plain_file, error> open_file(const std::string& path) {
    if (detail::holds_nul(path)) return failed(EINVAL, path);
    owned_fd fd(open_at(AT_FDCWD, path.c_str(), reading));
    file_status status;
    if (fd.get() < 0 || !read_status(fd.get(), status)) return failed(errno, path);
    return plain_file(fd.release(), status);
}

std::expected<std::size_t, error> read_at(int fd, std::uint64_t offset, std::span<char> into) {
    std::size_t done = 0;
    while (done != into.size()) {
        const ssize_t n =
            ::pread(fd, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (n == 0) break;
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {
            return std::unexpected(error(std::error_code(errno, std::generic_category()), "read"));
        }
    }
    return done;
}

std::expected<std::size_t, error> try_read_at(int fd, std::uint64_t offset, std::span<char> into) {
    return detail::try_read_at(fd, offset, {&into, 1});
}

std::expected<file_status, error> plain_file::current_status() const {
    file_status now;
    if (read_status(fd_.get(), now)) return now;
    return std::unexpected(error(std::error_code(errno, std::generic_category()), "status"));
}

std::expected<directory, error> directory::open(const std::string& path) {
    if (detail::holds_nul(path)) return failed(EINVAL, path);
    const int fd = open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed(errno, path);
    return directory(fd);
}

std::expected<plain_file, error> open_beneath(const directory& root, std::string_view path,
                                              beneath_method how, lookup where) {
    if (detail::holds_nul(path)) return failed(ENOENT, path);
    if (leads_out(path)) return failed(EXDEV, path);
    owned_fd fd(where == lookup::cached ? open_cached(root.fd(), path, how)
                                        : open_fd(root.fd(), path, how));
    if (fd.get() < 0) return failed(errno, path);
    file_status status;
    if (!read_status(fd.get(), status)) return failed(errno, path);
    return plain_file(fd.release(), status);
}

std::expected<directory_entries, error> read_directory(const directory& root, std::string_view path,
                                                       std::size_t limit, bool hidden,
                                                       beneath_method how) {
    auto opened = open_beneath(root, path, how);
    if (!opened) return std::unexpected(std::move(opened).error());
    const std::unique_ptr<DIR, directory_closer> d(::fdopendir(opened->fd()));
    if (!d) return failed(errno, path);
    static_cast<void>(opened->release());
    std::string prefix(path);
    if (!prefix.empty() && !prefix.ends_with('/')) prefix += '/';

    directory_entries all;
    for (;;) {
        const dirent* const e = detail::next_in(*d);
        if (e == nullptr && errno != 0) return failed(errno, path);
        if (e == nullptr) break;
        const std::string_view name = e->d_name;
        if (name == "." || name == ".." || (name.front() == '.' && !hidden)) continue;
        file_status s;
        if (!status_of_entry(root, prefix, d.get(), e->d_name, how, s)) continue;
        if (all.list.size() == limit) {
            all.truncated = true;
            break;
        }
        const std::uint64_t size = s.kind == file_kind::directory ? 0 : s.size;
        all.list.push_back({std::string(name), s.kind, size, s.modified_ns});
    }
    return all;
}

}  // namespace coracle::fs
