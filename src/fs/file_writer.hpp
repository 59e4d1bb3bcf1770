#pragma once

#include <coracle/base/error.hpp>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace coracle::fs {

/// The treatment of a file that exists already.
enum class if_exists : std::uint8_t { replace, fail };

/// A file that appears in its directory complete or not at all. Until `commit` it has no name
/// (O_TMPFILE), or a hidden one if the file system does not support that or /proc is missing; the
/// destructor removes an uncommitted file. All functions block. Move-only; on one thread at a time.
class file_writer {
public:
    file_writer() noexcept = default;
    file_writer(file_writer&& other) noexcept
        : directory_fd_(std::exchange(other.directory_fd_, -1)), fd_(std::exchange(other.fd_, -1)),
          random_(other.random_), temporary_name_(std::exchange(other.temporary_name_, {})) {}
    file_writer& operator=(file_writer&& other) noexcept {
        std::swap(directory_fd_, other.directory_fd_);
        std::swap(fd_, other.fd_);
        std::swap(random_, other.random_);
        std::swap(temporary_name_, other.temporary_name_);
        return *this;
    }
    ~file_writer() { discard(); }

    /// Begins a file in `directory`, with those of the permissions `mode` that the umask leaves.
    /// `random` makes the names that it needs for a time. Fails as open(2) does, with the directory
    /// as subject.
    static std::expected<file_writer, error> create(const std::string& directory,
                                                    std::uint64_t random, unsigned mode = 0666);
    bool open() const noexcept { return fd_ >= 0; }

    /// Appends. Fails as write(2) does.
    std::expected<void, error> write(std::string_view bytes);
    /// Gives the file its name, a single segment, and closes it. Fails with
    /// `std::errc::file_exists` if `if_exists::fail` forbids replacing; then it may be committed
    /// with another name. Any other failure leaves an existing file unchanged.
    std::expected<void, error> commit(const std::string& name, if_exists policy);
    /// Closes it and frees what it holds on the disk.
    void discard() noexcept;

private:
    static std::string name_of(std::uint64_t random);
    bool link_as(const std::string& name);
    bool name_it(const std::string& name, if_exists policy);

    int directory_fd_ = -1;
    int fd_ = -1;
    std::uint64_t random_ = 0;
    std::string temporary_name_;  // empty without one
};

}  // namespace coracle::fs
