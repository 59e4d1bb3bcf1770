#include "fs/file_text.hpp"

#include <coracle/fs/file_call.hpp>
#include <coracle/fs/plain_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>

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

}  // namespace

std::expected<file_text, error> read_file(const std::string& path, std::size_t limit) {
    if (detail::holds_nul(path)) return failed({std::errc::invalid_argument, "read_file"}, path);
    const plain_file f(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), {});
    struct stat status{};
    if (!f.open() || ::fstat(f.fd(), &status) != 0) return failed(last_error(), path);
    if (!S_ISREG(status.st_mode)) return failed({std::errc::invalid_argument, "read_file"}, path);
    const error too_large(errc::limit_exceeded, "read_file");
    if (std::cmp_greater(status.st_size, limit)) return failed(too_large, path);
    // One byte more tells whether it has grown since.
    std::string bytes(static_cast<std::size_t>(status.st_size) + 1, '\0');
    const auto size = f.read_at(0, bytes);
    if (!size) {
        wipe(bytes.data(), bytes.size());
        return failed(size.error(), path);
    }
    wipe(bytes.data() + *size, bytes.size() - *size);
    bytes.resize(*size);
    file_text out;
    out.text = secret(std::move(bytes));
    out.others_may_read = (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
    if (*size > limit) return failed(too_large, path);
    return out;
}

}  // namespace coracle::fs
