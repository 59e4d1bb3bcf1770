#include <coracle/fs/plain_file.hpp>
#include <coracle/http/body.hpp>

namespace coracle::http {

file_range& file_range::operator=(file_range&& other) noexcept {
    if (this != &other) {
        close();
        fd_ = std::exchange(other.fd_, -1);
        offset_ = other.offset_;
        size_ = other.size_;
    }
    return *this;
}

void file_range::close() noexcept {
    close_descriptor(std::exchange(fd_, -1));
}

}  // namespace coracle::http
