#include "base/stderr_log.hpp"

#include "base/unprintable.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>

namespace coracle::detail {
namespace {

std::string line_of(log_level level, log_layer layer, std::string_view text) {
    constexpr std::string_view cut = "...";
    // Reserves space for the count of repetitions and the line end.
    constexpr std::size_t longest = log_line - 64;
    std::string line(to_string(level));
    line.append(" ").append(to_string(layer)).append(": ");
    const bool longer = text.size() > longest;
    line += escape_unprintable(longer ? text.substr(0, longest) : text);
    if (longer || line.size() > longest) {
        if (line.size() > longest - cut.size()) line.resize(longest - cut.size());
        line += cut;
    }
    return line;
}

/// Writes to a pipe, or what else poll(2) tells room of.
ssize_t write_if_room(int fd, std::string_view bytes) noexcept {
    pollfd state{fd, POLLOUT, 0};
    // POLLERR means that there is no reader, and a write would raise SIGPIPE.
    if (::poll(&state, 1, 0) != 1 || state.revents != POLLOUT) return -1;
    const iovec piece{const_cast<char*>(bytes.data()), bytes.size()};
    const ssize_t n = ::pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
    if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return n;
    // For pipes before Linux 6.4: a writable one takes PIPE_BUF bytes, which no line exceeds,
    // unless another process writes first.
    return ::write(fd, bytes.data(), bytes.size());
}

/// Reads a clock that is not the loop's, because lines are logged without a loop too. No simulation
/// depends on it.
log_throttle::time now() noexcept {
    return std::chrono::steady_clock::now().time_since_epoch();
}

}  // namespace

line_log::~line_log() {
    if (terminal_ >= 0) ::close(terminal_);
}

/// The terminal opened once more, so that it can be made non-blocking: one that has room for a byte
/// is writable, and waits for the rest of a line. -1 where that cannot be done.
int line_log::terminal(std::uint64_t which) noexcept {
    if (terminal_ >= 0 && which_ == which) return terminal_;
    if (terminal_ >= 0) ::close(terminal_);
    char path[32];
    std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd_);
    terminal_ = ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    which_ = which;
    return terminal_;
}

/// The descriptor is shared with other processes, so it must not be made non-blocking: for each
/// kind of file there is another way to write without waiting.
std::int64_t line_log::write_at_once(std::string_view bytes) noexcept {
    struct stat kind{};
    if (::fstat(fd_, &kind) != 0) return -1;
    if (S_ISREG(kind.st_mode)) return ::write(fd_, bytes.data(), bytes.size());
    if (S_ISSOCK(kind.st_mode)) {
        return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    }
    if (S_ISCHR(kind.st_mode) && ::isatty(fd_) != 0) {
        const int own = terminal(kind.st_rdev);
        if (own >= 0) return ::write(own, bytes.data(), bytes.size());
    }
    return write_if_room(fd_, bytes);
}

bool line_log::put(std::string line) {
    line += '\n';
    if (torn_) line.insert(0, 1, '\n');
    const std::int64_t n = write_at_once(line);
    if (n > 0) torn_ = static_cast<std::size_t>(n) != line.size();
    return n > 0 && !torn_;
}

void line_log::put(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) {
        if (lost_ != 0) {
            const bool taken = put("warning runtime: " + std::to_string(lost_) +
                                   " log lines were lost: standard error did not take them");
            if (taken) lost_ = 0;
        }
        if (lost_ != 0 || !put(line)) ++lost_;
    }
}

void line_log::write(log_level level, log_layer layer, std::string_view text) noexcept {
    try {
        std::string line = line_of(level, layer, text);
        const std::scoped_lock held(guard_);
        std::vector<std::string> lines;
        if (level >= log_level::warning)
            throttle_.add(line, now(), lines);
        else
            lines.push_back(std::move(line));
        put(lines);
    } catch (const std::exception&) {
        return;  // lack of memory for the log must not end the program
    }
}

void line_log::flush() noexcept {
    try {
        const std::scoped_lock held(guard_);
        std::vector<std::string> lines;
        throttle_.flush(lines);
        put(lines);
    } catch (const std::exception&) {
        return;
    }
}

line_log& standard_error_log() {
    static line_log* const log = new line_log(STDERR_FILENO);
    return *log;
}

}  // namespace coracle::detail
