#include "fs/file_text.hpp"

#include <coracle/fs/file_call.hpp>
#include <coracle/fs/plain_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <span>
#include <utility>

namespace coracle::fs {
namespace {

std::unexpected<error> failed(error e, const std::string& path) {
    return std::unexpected(std::move(e.on(path)));
}

error last_error() {
    return {std::error_code(errno, std::generic_category()), "read_file"};
}

/// Bytes that are overwritten when they are freed.
class wiped_bytes {
public:
    explicit wiped_bytes(std::size_t size) : bytes_(size, '\0') {}
    wiped_bytes(const wiped_bytes&) = delete;
    wiped_bytes& operator=(const wiped_bytes&) = delete;
    ~wiped_bytes() { wipe(bytes_.data(), bytes_.size()); }

    std::span<char> from(std::size_t at) noexcept { return std::span(bytes_).subspan(at); }
    void grow() {
        wiped_bytes larger(2 * bytes_.size());
        bytes_.copy(larger.bytes_.data(), bytes_.size());
        bytes_.swap(larger.bytes_);
    }
    secret take(std::size_t size) {
        wipe(bytes_.data() + size, bytes_.size() - size);
        bytes_.resize(size);
        return secret(std::move(bytes_));
    }

private:
    std::string bytes_;
};

using text_or_error = std::expected<secret, error>;

text_or_error read_regular(const plain_file& f, std::size_t size, std::size_t limit) {
    const error too_large(errc::limit_exceeded, "read_file");
    if (size > limit) return std::unexpected(too_large);
    // One more byte shows if the file has grown since; some say no size at all.
    wiped_bytes bytes(size + 1);
    for (std::size_t have = 0; have <= limit;) {
        if (bytes.from(have).empty()) bytes.grow();
        const auto read = f.read_at(have, bytes.from(have));
        if (!read) return std::unexpected(read.error());
        if (*read == 0) return bytes.take(have);
        have += *read;
    }
    return std::unexpected(too_large);
}

text_or_error read_to_end(int fd, std::size_t limit) {
    // From here on reading waits for writers.
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) != 0)
        return std::unexpected(last_error());
    wiped_bytes bytes(4096);
    for (std::size_t size = 0; size <= limit;) {
        if (bytes.from(size).empty()) bytes.grow();
        const std::span<char> room = bytes.from(size);
        const ssize_t n = ::read(fd, room.data(), room.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return std::unexpected(last_error());
        if (n == 0) return bytes.take(size);
        size += static_cast<std::size_t>(n);
    }
    return std::unexpected(error(errc::limit_exceeded, "read_file"));
}

std::expected<file_text, error> read(const std::string& path, std::size_t limit, bool any_kind) {
    if (detail::holds_nul(path)) return failed({std::errc::invalid_argument, "read_file"}, path);
    const plain_file f(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), {});
    struct stat status{};
    if (!f.open() || ::fstat(f.fd(), &status) != 0) return failed(last_error(), path);
    const bool regular = S_ISREG(status.st_mode);
    if (!regular && (!any_kind || S_ISDIR(status.st_mode)))
        return failed({std::errc::invalid_argument, "read_file"}, path);
    auto text = regular ? read_regular(f, static_cast<std::size_t>(status.st_size), limit)
                        : read_to_end(f.fd(), limit);
    if (!text) return failed(std::move(text).error(), path);
    file_text out;
    out.text = *std::move(text);
    out.others_may_read = (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
    return out;
}

}  // namespace

std::expected<file_text, error> read_file(const std::string& path, std::size_t limit) {
    return read(path, limit, false);
}

std::expected<file_text, error> read_file_or_pipe(const std::string& path, std::size_t limit) {
    return read(path, limit, true);
}

}  // namespace coracle::fs
