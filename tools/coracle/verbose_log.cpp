#include "verbose_log.hpp"

#include "progress_display.hpp"

#include <string>

namespace coracle::tool {

void log_or_print(void* user, log_level level, log_layer layer, std::string_view text) {
    const bool of_messages = layer == log_layer::http && level == log_level::info;
    const bool traced = text.starts_with("> ") || text.starts_with("< ") || text.starts_with("* ");
    if (of_messages && traced) {
        static_cast<progress_display*>(user)->say(printable(text) + '\n');
    } else {
        log_to_stderr(nullptr, level, layer, text);
    }
}

}  // namespace coracle::tool
