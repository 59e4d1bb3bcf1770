#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

namespace coracle {

enum class log_level : std::uint8_t { trace, debug, info, warning, error, off };
enum class log_layer : std::uint8_t { runtime, net, tls, connect, http, websocket, smtp, tool };

inline constexpr unsigned log_layers = 8;

std::string_view to_string(log_level level) noexcept;
std::string_view to_string(log_layer layer) noexcept;

/// Where the library's messages go. A runtime holds one; without a sink every level is off, and a
/// call site costs one branch. Levels may be set from any thread at any time.
class logger {
public:
    /// Called on the thread that logs; must be thread-safe and must not throw.
    using sink = void (*)(void* user, log_level level, log_layer layer, std::string_view text);

    logger() noexcept { set_level(log_level::off); }
    logger(const logger&) = delete;
    logger& operator=(const logger&) = delete;

    /// Must not be called while another thread logs.
    void set_sink(sink s, void* user) noexcept {
        sink_ = s;
        user_ = user;
    }
    void set_level(log_level level) noexcept;
    void set_level(log_layer layer, log_level level) noexcept {
        levels_[static_cast<unsigned>(layer)].store(level, std::memory_order_relaxed);
    }

    /// Reads `level` or `layer=level,layer=level`: `info`, `http=debug,net=trace`. False when a
    /// word is unknown; the words before it have been applied.
    bool configure(std::string_view text) noexcept;

    bool enabled(log_layer layer, log_level level) const noexcept {
        return level >= levels_[static_cast<unsigned>(layer)].load(std::memory_order_relaxed);
    }

    void write(log_layer layer, log_level level, std::string_view text) const noexcept {
        if (sink_ != nullptr && enabled(layer, level)) sink_(user_, level, layer, text);
    }

private:
    sink sink_ = nullptr;
    void* user_ = nullptr;
    std::atomic<log_level> levels_[log_layers];
};

/// A sink that writes one line to standard error, with the level and the layer. A text may hold
/// bytes of a peer: control characters, and bytes that are no UTF-8, are written as \xhh.
void log_to_stderr(void*, log_level level, log_layer layer, std::string_view text);

}  // namespace coracle
