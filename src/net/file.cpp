#include <coracle/net/file.hpp>

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace coracle::net {
namespace {

// O_NONBLOCK: opening a FIFO returns at once. O_NOCTTY: a terminal does not become ours.
constexpr int reading = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

// Owns a number while it is not yet a `file`.
class held_fd {
public:
    explicit held_fd(int fd) noexcept : fd_(fd) {}
    held_fd(const held_fd&) = delete;
    held_fd& operator=(const held_fd&) = delete;
    ~held_fd() { close_descriptor(fd_); }
    void reset(int fd) noexcept { close_descriptor(std::exchange(fd_, fd)); }
    int get() const noexcept { return fd_; }
    int release() noexcept { return std::exchange(fd_, -1); }

private:
    int fd_;
};

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

int open_by_kernel(int root, const char* path) noexcept {
    open_how how{};
    how.flags = static_cast<unsigned>(reading);
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
    long fd = -1;
    // EAGAIN: something was renamed while the kernel stood at a ".." of a link.
    for (int tries = 0; fd < 0 && tries < 16; ++tries) {
        fd = ::syscall(SYS_openat2, root, path, &how, sizeof how);
        if (fd < 0 && errno != EINTR && errno != EAGAIN) break;
    }
    return static_cast<int>(fd);
}

// One step at a time, each from the descriptor of the last: no name is looked up twice, so nobody
// can swap a directory for a link in between.
int open_by_walk(int root, std::string_view path) {
    held_fd at(-1);
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

// The kernel before 5.6 says ENOSYS; sandboxes that do not know the call say EPERM, which opening
// for reading never says.
bool has_no_openat2(int number) noexcept {
    return number == ENOSYS || number == EPERM;
}

int open_fd(int root, std::string_view path, beneath_method how) {
    if (how != beneath_method::walk) {
        const std::string text(path.empty() ? std::string_view(".") : path);
        const int fd = open_by_kernel(root, text.c_str());
        if (fd >= 0 || how == beneath_method::kernel || !has_no_openat2(errno)) return fd;
    }
    return open_by_walk(root, path);
}

bool read_status(int fd, file_status& status) noexcept {
    struct stat s{};
    if (::fstat(fd, &s) != 0) return false;
    if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)) {
        errno = ENXIO;
        return false;
    }
    status.kind = S_ISDIR(s.st_mode) ? file_kind::directory : file_kind::regular;
    status.size = static_cast<std::uint64_t>(s.st_size);
    status.modified_ns = static_cast<std::int64_t>(s.st_mtim.tv_sec) * 1'000'000'000 +
                         static_cast<std::int64_t>(s.st_mtim.tv_nsec);
    status.inode = static_cast<std::uint64_t>(s.st_ino);
    status.device = static_cast<std::uint64_t>(s.st_dev);
    return true;
}

}  // namespace

void close_descriptor(int fd) noexcept {
    if (fd >= 0) ::close(fd);
}

std::expected<std::size_t, error> file::read_at(std::uint64_t offset, std::span<char> into) const {
    std::size_t done = 0;
    while (done != into.size()) {
        const ssize_t n =
            ::pread(fd_, into.data() + done, into.size() - done, static_cast<off_t>(offset + done));
        if (n == 0) break;
        if (n > 0) {
            done += static_cast<std::size_t>(n);
        } else if (errno != EINTR) {
            return std::unexpected(error(std::error_code(errno, std::generic_category()), "read"));
        }
    }
    return done;
}

std::expected<directory, error> directory::open(const std::string& path) {
    const int fd = open_at(AT_FDCWD, path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed(errno, path);
    return directory(fd);
}

std::expected<file, error> open_beneath(const directory& root, std::string_view path,
                                        beneath_method how) {
    if (path.find('\0') != std::string_view::npos) return failed(ENOENT, path);
    if (leads_out(path)) return failed(EXDEV, path);
    held_fd fd(open_fd(root.fd(), path, how));
    if (fd.get() < 0) return failed(errno, path);
    file_status status;
    if (!read_status(fd.get(), status)) return failed(errno, path);
    return file(fd.release(), status);
}

}  // namespace coracle::net
