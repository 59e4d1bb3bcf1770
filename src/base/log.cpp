#include "base/stderr_log.hpp"

#include <coracle/base/log.hpp>

#include <cstdlib>
#include <exception>

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

/// Removes and returns the text before `separator`, or all of it.
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

/// The levels of CORACLE_LOG.
struct environment_levels {
    environment_levels() noexcept {
        logger read(log_level::warning);
        const char* const text = std::getenv("CORACLE_LOG");
        if (text != nullptr && !read.configure(text)) {
            read.set_level(log_level::warning);
            report(text);
        }
        for (unsigned i = 0; i != log_layers; ++i) {
            auto level = log_level::trace;
            const auto layer = static_cast<log_layer>(i);
            while (level != log_level::off && !read.enabled(layer, level)) {
                level = static_cast<log_level>(static_cast<unsigned>(level) + 1);
            }
            levels[i] = level;
        }
    }
    static void report(const char* text) noexcept {
        try {
            log_to_stderr(nullptr, log_level::warning, log_layer::runtime,
                          "CORACLE_LOG: " + describe_unreadable_levels(text));
        } catch (const std::exception&) {
            return;  // without memory for the sentence there is nothing to write
        }
    }
    log_level levels[log_layers];
};

/// Read when the first logger is made, so that the order of initialization does not matter.
const environment_levels& levels_of_environment() noexcept {
    static const environment_levels levels;
    return levels;
}

}  // namespace

std::string_view to_string(log_level level) noexcept {
    return level_names[static_cast<unsigned>(level)];
}

std::string_view to_string(log_layer layer) noexcept {
    return layer_names[static_cast<unsigned>(layer)];
}

logger::logger() noexcept {
    const environment_levels& initial = levels_of_environment();
    for (unsigned i = 0; i != log_layers; ++i) {
        set_level(static_cast<log_layer>(i), initial.levels[i]);
    }
}

logger::~logger() {
    if (sink_ == &log_to_stderr) detail::standard_error_log().flush();
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

std::string describe_unreadable_levels(std::string_view text) {
    std::string known = "cannot read '" + std::string(text) + "' (levels:";
    for (const std::string_view level : level_names) known.append(" ").append(level);
    known += "; layers:";
    for (const std::string_view layer : layer_names) known.append(" ").append(layer);
    return known + "; for example CORACLE_LOG=info or CORACLE_LOG=warning,http=debug)";
}

void log_to_stderr(void*, log_level level, log_layer layer, std::string_view text) {
    detail::standard_error_log().write(level, layer, text);
}

}  // namespace coracle
