#include "output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace coracle::tool {
namespace {

constexpr const char* validator_attribute = "user.coracle.validator";

bool exists(const std::string& path) noexcept {
    struct stat s{};
    return ::stat(path.c_str(), &s) == 0 && S_ISREG(s.st_mode);
}

}  // namespace

output_file::output_file(std::string path) : path_(std::move(path)), part_(path_ + ".part") {
    if (is_standard_output()) fd_ = STDOUT_FILENO;
}

output_file::~output_file() {
    if (is_standard_output() || fd_ < 0) return;
    close();
    if (size_ == 0 && part_ != path_) ::unlink(part_.c_str());
}

void output_file::fail() const {
    throw std::system_error(errno, std::generic_category(),
                            is_standard_output() ? "standard output" : path_);
}

void output_file::close() noexcept {
    if (!is_standard_output() && fd_ >= 0) ::close(std::exchange(fd_, -1));
}

void output_file::open(const std::string& name, int flags) {
    fd_ = ::open(name.c_str(), O_RDWR | O_CLOEXEC | flags, 0666);
    if (fd_ < 0) fail();
}

void output_file::open_to_resume() {
    if (is_standard_output() || fd_ >= 0) return;
    if (!exists(part_) && exists(path_)) part_ = path_;
    open(part_, O_CREAT);
    const off_t end = ::lseek(fd_, 0, SEEK_END);
    if (end < 0) fail();
    size_ = static_cast<std::uint64_t>(end);
}

void output_file::start_anew() {
    if (is_standard_output()) return;
    if (fd_ < 0) open(part_, O_CREAT);
    if (::ftruncate(fd_, 0) != 0 || ::lseek(fd_, 0, SEEK_SET) != 0) fail();
    ::fremovexattr(fd_, validator_attribute);
    size_ = 0;
}

void output_file::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t n = ::write(fd_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail();
        bytes.remove_prefix(static_cast<std::size_t>(n));
        size_ += static_cast<std::uint64_t>(n);
    }
}

void output_file::keep_validator(const std::string& text) noexcept {
    if (!is_standard_output() && !text.empty()) {
        ::fsetxattr(fd_, validator_attribute, text.data(), text.size(), 0);
    }
}

std::string output_file::validator() const {
    std::array<char, 1024> text;
    const ssize_t n = ::fgetxattr(fd_, validator_attribute, text.data(), text.size());
    return n <= 0 ? std::string() : std::string(text.data(), static_cast<std::size_t>(n));
}

void output_file::read(const std::function<void(std::string_view)>& each) const {
    std::array<char, 65536> bytes;
    off_t at = 0;
    for (;;) {
        const ssize_t n = ::pread(fd_, bytes.data(), bytes.size(), at);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) fail();
        if (n == 0) return;
        each(std::string_view(bytes.data(), static_cast<std::size_t>(n)));
        at += n;
    }
}

void output_file::complete() {
    if (is_standard_output()) return;
    ::fremovexattr(fd_, validator_attribute);
    const int fd = std::exchange(fd_, -1);
    // A disk that is full may say so only now.
    if (::close(fd) != 0) fail();
    if (part_ != path_ && std::rename(part_.c_str(), path_.c_str()) != 0) fail();
}

void output_file::discard() noexcept {
    if (is_standard_output()) return;
    close();
    ::unlink(part_.c_str());
}

}  // namespace coracle::tool
