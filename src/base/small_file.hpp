#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <string_view>

namespace coracle::detail {

/// The beginning of a file of the system, such as those below /proc; empty where it cannot be read.
/// Allocates nothing: memory may be short.
class small_file {
public:
    explicit small_file(const char* path) noexcept {
        const int fd = ::open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0) return;
        while (size_ != sizeof bytes_) {
            const auto n = ::read(fd, bytes_ + size_, sizeof bytes_ - size_);
            if (n <= 0) break;
            size_ += static_cast<std::size_t>(n);
        }
        ::close(fd);
    }
    std::string_view text() const noexcept { return {bytes_, size_}; }

private:
    char bytes_[8192];
    std::size_t size_ = 0;
};

}  // namespace coracle::detail
