#pragma once

#include <utility>

namespace coracle {

/// Closes a descriptor number; nothing for a negative one. For those that may not call the system.
void close_descriptor(int fd) noexcept;

/// Owns the number of a descriptor, and closes it when destroyed. Move-only; as thread-safe as an
/// `int`.
class owned_fd {
public:
    owned_fd() noexcept = default;
    /// Takes over `fd`; a negative one is none.
    explicit owned_fd(int fd) noexcept : fd_(fd) {}
    owned_fd(owned_fd&& other) noexcept : fd_(other.release()) {}
    owned_fd& operator=(owned_fd&& other) noexcept {
        if (this != &other) reset(other.release());
        return *this;
    }
    ~owned_fd() { close_descriptor(fd_); }

    explicit operator bool() const noexcept { return fd_ >= 0; }
    /// The number, which stays ours.
    int get() const noexcept { return fd_; }
    /// Releases the descriptor: the caller closes it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    /// Closes what it has, and takes over `fd`.
    void reset(int fd = -1) noexcept { close_descriptor(std::exchange(fd_, fd)); }

private:
    int fd_ = -1;
};

}  // namespace coracle
