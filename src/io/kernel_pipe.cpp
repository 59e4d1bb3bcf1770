#include <coracle/io/kernel_pipe.hpp>
#include <coracle/runtime/loop.hpp>
#include <coracle/runtime/sleep.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace coracle::io {
namespace {

error failure(int number, const char* operation, const std::string& path) {
    error e(std::error_code(number, std::generic_category()), operation);
    return std::move(e.on(path));
}

bool is_fifo(const std::string& path) noexcept {
    struct stat s{};
    return ::stat(path.c_str(), &s) == 0 && S_ISFIFO(s.st_mode);
}

task<std::expected<std::unique_ptr<descriptor_stream>, error>> opened(std::string path,
                                                                      fifo_end end) {
    constexpr duration longest = std::chrono::milliseconds(20);
    duration pause = std::chrono::milliseconds(1);
    const int access = end == fifo_end::read ? O_RDONLY : O_WRONLY;
    for (;;) {
        owned_fd fd(::open(path.c_str(), access | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
        const int number = errno;
        if (fd) {
            struct stat s{};
            if (::fstat(fd.get(), &s) != 0) co_return std::unexpected(failure(errno, "open", path));
            if (!S_ISFIFO(s.st_mode)) co_return std::unexpected(failure(EINVAL, "open_fifo", path));
            auto stream = descriptor_stream::adopt(*loop::current(), std::move(fd), path);
            if (stream && end == fifo_end::read) (*stream)->wait_before_reading();
            co_return std::move(stream);
        }
        // ENXIO is temporary for a FIFO without a reader, and permanent for a socket.
        if (number != ENXIO || !is_fifo(path)) {
            co_return std::unexpected(failure(number, "open", path));
        }
        auto waited = co_await as_result(sleep_for(pause));
        if (!waited) co_return std::unexpected(std::move(waited).error());
        pause = std::min(2 * pause, longest);
    }
}

}  // namespace

std::expected<kernel_pipe, error> make_pipe() {
    loop& here = coracle::detail::loop_here("make_pipe");
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        return std::unexpected(error(std::error_code(errno, std::generic_category()), "pipe2"));
    }
    owned_fd reader(ends[0]);
    owned_fd writer(ends[1]);
    auto in = descriptor_stream::adopt(here, std::move(reader), "pipe");
    if (!in) return std::unexpected(std::move(in).error());
    auto out = descriptor_stream::adopt(here, std::move(writer), "pipe");
    if (!out) return std::unexpected(std::move(out).error());
    kernel_pipe both;
    both.reader = *std::move(in);
    both.writer = *std::move(out);
    return both;
}

operation<std::unique_ptr<descriptor_stream>> open_fifo(std::string path, fifo_end end) {
    return opened(std::move(path), end);
}

}  // namespace coracle::io
