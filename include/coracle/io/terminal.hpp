#pragma once

#include <coracle/runtime/operation.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/signals.hpp>

#include <cstddef>
#include <expected>
#include <string>

namespace coracle::io {

/// The size of a terminal, in characters.
struct window_size {
    unsigned columns = 0;
    unsigned rows = 0;

    friend bool operator==(const window_size&, const window_size&) = default;
};

/// The modes in which a terminal hands on typed characters.
enum class input_mode : unsigned char {
    line,               ///< whole lines, shown and edited, Ctrl-C is SIGINT: how programs start
    line_without_echo,  ///< the same, not shown: for passwords
    raw,  ///< each byte at once, none shown, none special; output is written as it is, too
};

/// Keeps a terminal in a mode, and puts back what was before when it is destroyed. Also when the
/// program ends by exit(), and when a signal ends it that ends programs (SIGINT, SIGTERM, SIGHUP,
/// SIGQUIT, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL): while a mode is in force those of them that
/// the program has left alone have a handler, which restores all terminals and lets the signal do
/// what it does. On these ways out, what was typed without being shown and has not been read is
/// dropped. SIGKILL, _exit and a program that handles one of these signals itself and then
/// never returns are past help. Modes of one terminal nest. From any thread, one at a time.
class terminal_mode {
public:
    terminal_mode(terminal_mode&& other) noexcept;
    terminal_mode& operator=(terminal_mode&&) = delete;
    ~terminal_mode() { restore(); }
    /// Now, instead of when it is destroyed.
    void restore() noexcept;

private:
    friend class terminal;
    explicit terminal_mode(int slot) noexcept : slot_(slot) {}
    int slot_;
};

/// A terminal by the number of a descriptor that is open on it, which must stay so.
class terminal {
public:
    /// Default: standard input.
    explicit terminal(int fd = 0) noexcept : fd_(fd) {}

    /// Returns true if there is a terminal.
    bool is_terminal() const noexcept;
    std::expected<window_size, error> size() const;
    /// Tells its programs of it, too (SIGWINCH).
    std::expected<void, error> set_size(window_size s) const;
    /// Fails with ENOTTY where there is no terminal, with `errc::limit_exceeded` beyond
    /// `most_modes` modes in force at a time.
    std::expected<terminal_mode, error> set_mode(input_mode m) const;
    static constexpr int most_modes = 16;

private:
    int fd_;
};

/// Changes of a terminal's size, as something to await. It holds a `signal_set` of SIGWINCH: make
/// it before the threads of the runtime.
class window_changes {
public:
    explicit window_changes(terminal t = terminal());

    /// Completes when the size has changed since the last time, with the new one; several changes
    /// may be reported as one. Resumes from the loop. Fails with ENOTTY where there is no terminal.
    /// Cancelling it loses nothing.
    operation<window_size> next();

private:
    terminal terminal_;
    signal_set signals_;
};

struct password_options {
    /// Bytes of a password; a longer one fails with `errc::limit_exceeded`. Default 1,024.
    std::size_t limit = 1024;
    /// The terminal; -1: the controlling terminal of the program (/dev/tty). Default -1.
    int fd = -1;
};

/// Writes `prompt` to the terminal and reads a line that is not shown; completes with the line,
/// without its end. The mode is restored on every way out; when no line is given, the typed
/// characters are dropped first, so that the next reader does not get half a password. Resumes from
/// the loop. Fails with ENXIO or ENOTTY where there is no terminal, and with `errc::end_of_stream`
/// when it hangs up or the line is ended by Ctrl-D at its start. No memory of the library holds the
/// typed characters afterwards, except the string that is given. Cancelling it drops the typed
/// characters.
operation<std::string> read_password(std::string prompt, password_options options = {});

}  // namespace coracle::io
