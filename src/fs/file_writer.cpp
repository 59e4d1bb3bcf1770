#include "fs/file_writer.hpp"

#include "fs/late_failure.hpp"

#include <coracle/fs/plain_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace coracle::fs {
namespace {

constexpr int writing = O_WRONLY | O_CLOEXEC;

std::unexpected<error> failed(int number, std::string_view subject) {
    error e(std::error_code(number, std::generic_category()), "save");
    return std::unexpected(std::move(e.on(subject)));
}

// The path by which an unprivileged process can link a descriptor to a name.
std::string proc_path(int fd) {
    return "/proc/self/fd/" + std::to_string(fd);
}

}  // namespace

// Not just a leading dot: the name of a file that a crash leaves behind should show its origin.
std::string file_writer::name_of(std::uint64_t random) {
    char name[40];
    std::snprintf(name, sizeof name, ".coracle-%016llx.part",
                  static_cast<unsigned long long>(random));
    return name;
}

std::expected<file_writer, error> file_writer::create(const std::string& directory,
                                                      std::uint64_t random, unsigned mode) {
    file_writer w;
    w.random_ = random;
    w.directory_fd_ = ::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (w.directory_fd_ < 0) return failed(errno, directory);
    w.fd_ = ::openat(w.directory_fd_, ".", O_TMPFILE | writing, mode);
    if (w.fd_ >= 0 && ::access(proc_path(w.fd_).c_str(), F_OK) == 0) return w;
    // File systems and kernels without O_TMPFILE fail so; after another failure a name fails as
    // well.
    close_descriptor(std::exchange(w.fd_, -1));
    std::string name = name_of(random);
    w.fd_ = ::openat(w.directory_fd_, name.c_str(), O_CREAT | O_EXCL | O_NOFOLLOW | writing, mode);
    if (w.fd_ < 0) return failed(errno, directory);
    w.temporary_name_ = std::move(name);
    return w;
}

std::expected<void, error> file_writer::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n >= 0)
            bytes.remove_prefix(static_cast<std::size_t>(n));
        else if (errno != EINTR)
            return failed(errno, {});
    }
    return {};
}

bool file_writer::link_as(const std::string& name) {
    if (!temporary_name_.empty()) {
        return ::linkat(directory_fd_, temporary_name_.c_str(), directory_fd_, name.c_str(), 0) ==
               0;
    }
    return ::linkat(AT_FDCWD, proc_path(fd_).c_str(), directory_fd_, name.c_str(),
                    AT_SYMLINK_FOLLOW) == 0;
}

bool file_writer::name_it(const std::string& name, if_exists policy) {
    if (policy == if_exists::fail) return link_as(name);
    // link(2) replaces nothing, rename(2) does.
    if (temporary_name_.empty()) {
        std::string between = name_of(random_);
        if (!link_as(between)) return false;
        temporary_name_ = std::move(between);
    }
    if (::renameat(directory_fd_, temporary_name_.c_str(), directory_fd_, name.c_str()) != 0) {
        return false;
    }
    temporary_name_.clear();
    return true;
}

std::expected<void, error> file_writer::commit(const std::string& name, if_exists policy) {
    // Before the rename, because the replaced file is lost then.
    if (const int number = detail::late_failure(fd_); number != 0) {
        discard();
        return failed(number, name);
    }
    if (!name_it(name, policy)) return failed(errno, name);
    discard();
    return {};
}

void file_writer::discard() noexcept {
    close_descriptor(std::exchange(fd_, -1));
    if (!temporary_name_.empty()) ::unlinkat(directory_fd_, temporary_name_.c_str(), 0);
    temporary_name_.clear();
    close_descriptor(std::exchange(directory_fd_, -1));
}

}  // namespace coracle::fs
