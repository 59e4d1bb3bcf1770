#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle {

enum class log_level : std::uint8_t { trace, debug, info, warning, error, off };
enum class log_layer : std::uint8_t { runtime, net, tls, connect, http, websocket, smtp, tool };

inline constexpr unsigned log_layers = 8;

std::string_view to_string(log_level level) noexcept;
std::string_view to_string(log_layer layer) noexcept;

/// Writes one line to standard error, with the level and the layer. A text may hold bytes of a
/// peer: control characters, and bytes that are no UTF-8, are written as \xhh; a line longer than
/// `log_line` bytes is cut. A sink of `logger`; safe from any thread.
///
/// Never blocks: a line that standard error does not take at once (a full pipe) is dropped, and the
/// number of dropped lines is written when it takes some again. Of equal warnings and errors within
/// ten seconds only the first, the tenth, the hundredth and so on are written, with their number;
/// beyond `log_burst` warnings and errors in a second the others are counted and dropped.
void log_to_stderr(void*, log_level level, log_layer layer, std::string_view text);

/// Bytes of a line on standard error; what a pipe takes as a whole.
inline constexpr std::size_t log_line = 4096;
/// Different warnings and errors that are written to standard error in a second.
inline constexpr unsigned log_burst = 500;

/// The destination of the library's messages, with a level for each layer. A runtime that is given
/// none makes its own. A disabled level costs a call site one branch. Levels may be set from any
/// thread at any time.
class logger {
public:
    /// Called on the thread that logs; must be thread-safe, must not throw, and should not block:
    /// its caller is the thread of a loop.
    using sink = void (*)(void* user, log_level level, log_layer layer, std::string_view text);

    /// Writes warnings and errors to standard error, or the levels that the environment variable
    /// CORACLE_LOG names as `configure` reads them: `CORACLE_LOG=off`, `info`,
    /// `warning,http=debug`. The variable is read once for the process; a value that cannot be read
    /// is reported once on standard error, and warnings and errors are written.
    logger() noexcept;
    /// Writes messages of this level and above to standard error, whatever the environment says.
    explicit logger(log_level from) noexcept { set_level(from); }
    /// Writes what `log_to_stderr` still has to say of lines that it held back, if that is the
    /// sink.
    ~logger();
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;

    /// Sends messages to `s`, called with `user`, in place of standard error; null drops them.
    /// Leaves the levels as they are. Must not be called while another thread logs.
    void set_sink(sink s, void* user) noexcept {
        sink_ = s;
        user_ = user;
    }
    void set_level(log_level level) noexcept;
    void set_level(log_layer layer, log_level level) noexcept {
        levels_[static_cast<unsigned>(layer)].store(level, std::memory_order_relaxed);
    }

    /// Reads `level` or `layer=level,layer=level`: `info`, `http=debug,net=trace`. Returns false if
    /// a word is unknown; the words before it have been applied.
    bool configure(std::string_view text) noexcept;

    bool enabled(log_layer layer, log_level level) const noexcept {
        return level >= levels_[static_cast<unsigned>(layer)].load(std::memory_order_relaxed);
    }

    void write(log_layer layer, log_level level, std::string_view text) const noexcept {
        if (sink_ != nullptr && enabled(layer, level)) sink_(user_, level, layer, text);
    }

private:
    sink sink_ = &log_to_stderr;
    void* user_ = nullptr;
    std::atomic<log_level> levels_[log_layers];
};

/// A sentence for the user about a text that `logger::configure` refused, with the words that it
/// knows: "cannot read 'htp=debug' (levels: trace ...; layers: runtime ...; for example ...)".
std::string describe_unreadable_levels(std::string_view text);

}  // namespace coracle
