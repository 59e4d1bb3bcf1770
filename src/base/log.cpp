#include <coracle/base/log.hpp>

#include <cstdio>

namespace coracle {
namespace {

constexpr std::string_view level_names[] = {"trace", "debug", "info", "warning", "error", "off"};
constexpr std::string_view layer_names[] = {"runtime", "net",       "tls",  "connect",
                                            "http",    "websocket", "smtp", "tool"};

template <class Enum, std::size_t N>
bool find(const std::string_view (&names)[N], std::string_view text, Enum& out) noexcept {
    for (std::size_t i = 0; i != N; ++i) {
        if (names[i] == text) {
            out = static_cast<Enum>(i);
            return true;
        }
    }
    return false;
}

bool apply_word(logger& log, std::string_view word) noexcept {
    const std::size_t equals = word.find('=');
    log_level level{};
    if (equals == std::string_view::npos) {
        if (!find(level_names, word, level)) return false;
        log.set_level(level);
        return true;
    }
    log_layer layer{};
    if (!find(layer_names, word.substr(0, equals), layer)) return false;
    if (!find(level_names, word.substr(equals + 1), level)) return false;
    log.set_level(layer, level);
    return true;
}

} // namespace

std::string_view to_string(log_level level) noexcept {
    return level_names[static_cast<unsigned>(level)];
}

std::string_view to_string(log_layer layer) noexcept {
    return layer_names[static_cast<unsigned>(layer)];
}

void logger::set_level(log_level level) noexcept {
    for (auto& l : levels_) l.store(level, std::memory_order_relaxed);
}

bool logger::configure(std::string_view text) noexcept {
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        if (!apply_word(*this, text.substr(0, comma))) return false;
        text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    }
    return true;
}

void log_to_stderr(void*, log_level level, log_layer layer, std::string_view text) {
    std::string line;
    line.reserve(text.size() + 32);
    line += to_string(level);
    line += ' ';
    line += to_string(layer);
    line += ": ";
    line += text;
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

} // namespace coracle
