#include "output_file.hpp"

#include "settings.hpp"

#include <coracle/io/kernel_pipe.hpp>
#include <coracle/io/standard_streams.hpp>
#include <coracle/runtime/loop.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

constexpr const char* validator_attribute = "user.coracle.validator";

bool is_regular(const std::string& path) noexcept {
    struct stat s{};
    return ::stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

/// The file that is written is the one that a chain of symbolic links leads to, also where nothing
/// is there yet. Of a circle a link is left, which opening refuses.
std::string behind_links(const std::string& path) {
    constexpr int most = 40;  // as the kernel does
    std::filesystem::path target = path;
    for (int i = 0; i != most; ++i) {
        std::error_code is_none;
        const auto next = std::filesystem::read_symlink(target, is_none);
        if (is_none) return target.string();
        target = target.parent_path() / next;
    }
    return path;
}

/// Returns true if `fd` is still the file that `name` names.
bool has_its_name(int fd, const std::string& name) noexcept {
    struct stat ours{};
    struct stat there{};
    return ::fstat(fd, &ours) == 0 && ::stat(name.c_str(), &there) == 0 &&
           ours.st_ino == there.st_ino && ours.st_dev == there.st_dev;
}

/// Returns true for a name of standard output, which may be a file: it is not to be replaced, and
/// what is in it stays.
bool is_its_name(std::string_view path) noexcept {
    return path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

/// Returns true for a file that another user, or one by another name, may write to as well.
bool is_shared(int fd) noexcept {
    struct stat s{};
    return ::fstat(fd, &s) == 0 && (s.st_uid != ::geteuid() || s.st_nlink > 1);
}

}  // namespace

output_file::output_file(std::string path) : path_(is_its_name(path) ? "-" : std::move(path)) {
    struct stat s{};
    const bool there = !is_standard_output() && ::stat(path_.c_str(), &s) == 0;
    is_stream_ = is_standard_output() || (there && !S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode));
    target_ = is_stream_ ? path_ : behind_links(path_);
    part_ = target_ + ".part";
}

output_file::~output_file() {
    if (fd_ < 0) return;
    // Before its lock is released: after that it may be another program's.
    if (size_ == 0 && !in_place_) ::unlink(part_.c_str());
    close();
}

void output_file::fail(int number) const {
    throw std::system_error(number, std::generic_category(),
                            is_standard_output() ? "standard output" : path_);
}

void output_file::close() noexcept {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void output_file::open(const std::string& name, int flags) {
    struct stat s{};
    const bool there = ::stat(target_.c_str(), &s) == 0;
    if (there && S_ISDIR(s.st_mode)) fail(EISDIR);
    if (!there && errno == ELOOP) fail(ELOOP);
    // No one may read it who may not read the file that it is to replace.
    const mode_t mode = there && S_ISREG(s.st_mode) ? (s.st_mode & 0777) | S_IRUSR | S_IWUSR : 0666;
    fd_ = ::open(name.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, mode);
    if (fd_ < 0) fail(errno);
    if (name == part_ && is_shared(fd_)) {
        close();
        throw unwritable(name + " belongs to another user, or has another name too");
    }
    lock(name);
}

/// Against other transfers, of other processes too: also those of `http::download`.
void output_file::lock(const std::string& name) {
    struct flock whole{};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    const bool locked = ::fcntl(fd_, F_OFD_SETLK, &whole) == 0;
    const bool by_another = !locked && (errno == EAGAIN || errno == EACCES);
    if (!by_another && has_its_name(fd_, name)) return;
    close();
    throw unwritable(name + " is being written by another transfer");
}

void output_file::open_to_resume() {
    if (is_stream_ || fd_ >= 0) return;
    in_place_ = !is_regular(part_) && is_regular(target_);
    open(part(), in_place_ ? 0 : O_CREAT);
    const off_t end = ::lseek(fd_, 0, SEEK_END);
    if (end < 0) fail(errno);
    size_ = static_cast<std::uint64_t>(end);
}

void output_file::start_anew() {
    if (is_stream_) return;
    if (std::exchange(in_place_, false)) close();
    if (fd_ < 0) open(part_, O_CREAT);
    if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0) fail(errno);
    ::fremovexattr(fd_, validator_attribute);
    validator_.clear();
    size_ = 0;
}

void output_file::cut(std::uint64_t size) {
    if (is_stream_ || size >= size_) return;
    const auto end = static_cast<off_t>(size);
    if (::ftruncate(fd_, end) != 0 || ::lseek(fd_, end, SEEK_SET) != end) fail(errno);
    size_ = size;
}

task<> output_file::open_stream() {
    std::expected<std::unique_ptr<io::descriptor_stream>, error> opened;
    struct stat s{};
    if (is_standard_output()) {
        opened = io::standard_output();
    } else if (::stat(path_.c_str(), &s) == 0 && S_ISFIFO(s.st_mode)) {
        auto opening = io::open_fifo(path_, io::fifo_end::write);
        opened = co_await as_result(opening);
    } else {
        owned_fd fd(::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        if (!fd) fail(errno);
        opened = io::descriptor_stream::adopt(*loop::current(), std::move(fd), path_);
    }
    if (!opened) throw_exception(std::move(opened).error());
    stream_ = *std::move(opened);
}

task<> output_file::open_fifo_if_never_written() {
    struct stat s{};
    if (!is_stream_ || stream_ != nullptr || is_standard_output()) co_return;
    if (::stat(path_.c_str(), &s) == 0 && S_ISFIFO(s.st_mode)) co_await open_stream();
}

task<> output_file::write_to_stream(std::string_view bytes) {
    if (stream_ == nullptr) co_await open_stream();
    auto sending = stream_->send(bytes);
    const auto sent = co_await as_result(sending);
    if (sent) co_return;
    if (sent.error() == std::errc::operation_canceled) throw_exception(sent.error());
    fail(sent.error().code().value());
}

void output_file::write_to_file(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(errno);
        bytes.remove_prefix(static_cast<std::size_t>(n));
        size_ += static_cast<std::uint64_t>(n);
    }
}

task<> output_file::write(std::string_view bytes) {
    if (is_stream_) {
        co_await write_to_stream(bytes);
    } else {
        write_to_file(bytes);
    }
}

void output_file::keep_validator(std::string_view text) {
    if (is_stream_ || text.empty()) return;
    validator_ = text;
    ::fsetxattr(fd_, validator_attribute, text.data(), text.size(), 0);
}

std::string output_file::validator() const {
    if (!validator_.empty()) return validator_;
    const ssize_t size = ::fgetxattr(fd_, validator_attribute, nullptr, 0);
    std::string text(size <= 0 ? 0 : static_cast<std::size_t>(size), '\0');
    const ssize_t n = ::fgetxattr(fd_, validator_attribute, text.data(), text.size());
    text.resize(n <= 0 ? 0 : static_cast<std::size_t>(n));
    return text;
}

void output_file::read(const std::function<void(std::string_view)>& each) const {
    std::array<char, 65536> bytes;
    off_t at = 0;
    for (;;) {
        const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail(errno);
        if (n == 0) return;
        each(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
        at += n;
    }
}

/// Gives the file the owner, the group and the permissions of the one that it replaces, so far as
/// that is allowed; what cannot be had is not given to others.
void output_file::take_after(const struct stat& old, bool has_acl) const noexcept {
    const bool is_owned = ::fchown(fd_, old.st_uid, old.st_gid) == 0 ||
                          ::fchown(fd_, static_cast<uid_t>(-1), old.st_gid) == 0;
    mode_t mode = old.st_mode & 0777;
    // In another group, or without the list, the bits of the group would let others in.
    if (!is_owned || has_acl) mode &= ~static_cast<mode_t>(070) | (mode & 07U) << 3U;
    static_cast<void>(::fchmod(fd_, mode));
}

void output_file::complete() {
    if (is_stream_) return;
    // A disk that is full may say so only when a descriptor is closed.
    const int another = ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
    if (another < 0 || (::close(another) != 0 && errno != EINTR)) fail(errno);
    struct stat old{};
    const bool replaces = !in_place_ && ::lstat(target_.c_str(), &old) == 0 && S_ISREG(old.st_mode);
    const bool has_acl =
        replaces && ::lgetxattr(target_.c_str(), "system.posix_acl_access", nullptr, 0) > 0;
    if (!in_place_ && std::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
    ::fremovexattr(fd_, validator_attribute);
    if (replaces) take_after(old, has_acl);
    close();
}

void output_file::discard() noexcept {
    if (is_stream_) return;
    ::unlink(part().c_str());
    close();
    size_ = 0;
    validator_.clear();
}

}  // namespace coracle::tool
