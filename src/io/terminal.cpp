#include "io/terminal_restore.hpp"

#include <coracle/io/descriptor_stream.hpp>
#include <coracle/io/terminal.hpp>
#include <coracle/runtime/loop.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace coracle::io {
namespace {

error failure(const char* operation, std::string_view subject = {}) {
    error e(std::error_code(errno, std::generic_category()), operation);
    if (!subject.empty()) e.on(subject);
    return e;
}

termios changed(const termios& before, input_mode m) noexcept {
    termios t = before;
    switch (m) {
        case input_mode::line:
            t.c_lflag |= ICANON | ECHO | ISIG | IEXTEN;
            t.c_iflag |= ICRNL;
            t.c_oflag |= OPOST;
            break;
        case input_mode::line_without_echo:
            t.c_lflag |= ICANON | ISIG;
            t.c_lflag &= ~static_cast<tcflag_t>(ECHO);
            t.c_iflag |= ICRNL;
            break;
        case input_mode::raw: ::cfmakeraw(&t); break;
    }
    return t;
}

}  // namespace

terminal_mode::terminal_mode(terminal_mode&& other) noexcept
    : slot_(std::exchange(other.slot_, -1)) {}

void terminal_mode::restore() noexcept {
    if (slot_ >= 0) take_back_mode(std::exchange(slot_, -1));
}

bool terminal::is_terminal() const noexcept {
    return ::isatty(fd_) == 1;
}

std::expected<window_size, error> terminal::size() const {
    winsize w{};
    if (::ioctl(fd_, TIOCGWINSZ, &w) != 0) return std::unexpected(failure("terminal size"));
    return window_size{w.ws_col, w.ws_row};
}

std::expected<void, error> terminal::set_size(window_size s) const {
    winsize w{};
    w.ws_col = static_cast<unsigned short>(std::min(s.columns, 0xffffu));
    w.ws_row = static_cast<unsigned short>(std::min(s.rows, 0xffffu));
    if (::ioctl(fd_, TIOCSWINSZ, &w) != 0) return std::unexpected(failure("set terminal size"));
    return {};
}

std::expected<terminal_mode, error> terminal::set_mode(input_mode m) const {
    termios before{};
    if (::tcgetattr(fd_, &before) != 0) return std::unexpected(failure("tcgetattr"));
    // A duplicate: the mode can be restored even if the descriptor is closed meanwhile.
    owned_fd own(::fcntl(fd_, F_DUPFD_CLOEXEC, 0));
    if (!own) return std::unexpected(failure("fcntl"));
    const termios after = changed(before, m);
    const int slot = remember_mode(own.get(), before, (after.c_lflag & ECHO) == 0);
    if (slot < 0) {
        return std::unexpected(
            error(errc::limit_exceeded, "set terminal mode")
                .on("terminal::most_modes (" + std::to_string(most_modes) + ")"));
    }
    const int fd = own.release();
    terminal_mode mode(slot);
    if (set_terminal_mode(fd, after) != 0) {
        return std::unexpected(failure("tcsetattr"));
    }
    return mode;
}

namespace {

task<std::expected<window_size, error>> next_size(terminal t, signal_set& signals) {
    // Nothing would ever change.
    if (auto now = t.size(); !now) co_return now;
    auto number = co_await as_result(signals.next());
    if (!number) co_return std::unexpected(std::move(number).error());
    co_return t.size();
}

/// Typed characters pass through blocks that others use later.
void wipe(buffer& b) noexcept {
    ::explicit_bzero(b.spare() - b.size(), b.size());
}

std::expected<std::unique_ptr<descriptor_stream>, error> open_terminal(int fd) {
    loop& here = *loop::current();
    if (fd >= 0) return descriptor_stream::share(here, fd, "terminal");
    owned_fd own(::open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
    if (!own) return std::unexpected(failure("open", "/dev/tty"));
    return descriptor_stream::adopt(here, std::move(own), "/dev/tty");
}

/// Processes a piece of a line. Returns true if it was the last.
std::expected<bool, error> take_piece(std::string& line, buffer piece, std::size_t limit) {
    const std::string_view bytes = piece.view();
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const bool fits = line.size() + end <= limit;
    if (fits) line.append(bytes.substr(0, end));
    const bool last = end != bytes.size();
    wipe(piece);
    if (fits) return last;
    return std::unexpected(error(errc::limit_exceeded, "read_password")
                               .on("password_options::limit (" + std::to_string(limit) + ")"));
}

/// A string whose memory never moves, so that no copy remains: it is too long to be stored within
/// the object.
struct wiped_string {
    explicit wiped_string(std::size_t limit) { text.reserve(std::max(limit, sizeof(std::string))); }
    wiped_string(const wiped_string&) = delete;
    wiped_string& operator=(const wiped_string&) = delete;
    ~wiped_string() { ::explicit_bzero(text.data(), text.size()); }
    std::string text;
};

/// The next program, such as the shell, must not read half a password and show it.
struct typed_bytes {
    explicit typed_bytes(int number) noexcept : fd(number) {}
    typed_bytes(const typed_bytes&) = delete;
    typed_bytes& operator=(const typed_bytes&) = delete;
    ~typed_bytes() {
        if (!taken) drop_typed(fd);
    }
    int fd;
    bool taken = false;
};

task<std::expected<std::string, error>> password(std::string prompt, password_options o) {
    auto stream = open_terminal(o.fd);
    if (!stream) co_return std::unexpected(std::move(stream).error());
    descriptor_stream& tty = **stream;
    auto mode = terminal(tty.fd()).set_mode(input_mode::line_without_echo);
    if (!mode) co_return std::unexpected(std::move(mode).error());
    // Destroyed before the mode is restored.
    typed_bytes typed(tty.fd());
    auto prompted = co_await as_result(tty.send(prompt));
    if (!prompted) co_return std::unexpected(std::move(prompted).error());
    wiped_string line(o.limit);
    for (;;) {
        auto piece = co_await as_result(tty.receive());
        if (!piece) {
            const bool ended = piece.error() == errc::end_of_stream && !line.text.empty();
            if (!ended) co_return std::unexpected(std::move(piece).error());
            break;
        }
        auto last = take_piece(line.text, *std::move(piece), o.limit);
        if (!last) co_return std::unexpected(std::move(last).error());
        if (*last) break;
    }
    typed.taken = true;
    mode->restore();
    // The terminal did not echo the line end.
    static_cast<void>(co_await as_result(tty.send("\n")));
    co_return std::move(line.text);
}

}  // namespace

window_changes::window_changes(terminal t) : terminal_(t), signals_{SIGWINCH} {}

operation<window_size> window_changes::next() {
    return next_size(terminal_, signals_);
}

operation<std::string> read_password(std::string prompt, password_options options) {
    return password(std::move(prompt), options);
}

}  // namespace coracle::io
