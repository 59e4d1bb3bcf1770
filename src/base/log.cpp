#include "base/unprintable.hpp"

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

/// Cuts what stands before `separator`, or all, off the front of `text`.
std::string_view take_until(std::string_view& text, char separator) noexcept {
    std::size_t end = 0;
    while (end != text.size() && text[end] != separator) ++end;
    const std::string_view taken(text.data(), end);
    text.remove_prefix(end == text.size() ? end : end + 1);
    return taken;
}

bool apply_word(logger& log, std::string_view word) noexcept {
    log_level level{};
    std::string_view rest = word;
    const std::string_view first = take_until(rest, '=');
    if (first.size() == word.size()) {
        if (!find(level_names, word, level)) return false;
        log.set_level(level);
        return true;
    }
    log_layer layer{};
    if (!find(layer_names, first, layer) || !find(level_names, rest, level)) return false;
    log.set_level(layer, level);
    return true;
}

}  // namespace

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
        if (!apply_word(*this, take_until(text, ','))) return false;
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
    line += detail::escape_unprintable(text);
    line += '\n';
    std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace coracle
