#include "settings.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace coracle::tool {

void configure_log(logger& log) {
    log.set_sink(&log_to_stderr, nullptr);
    log.set_level(log_level::warning);
    const char* text = std::getenv("CORACLE_LOG");
    if (text == nullptr || log.configure(text)) return;

    std::string known = " (levels:";
    for (unsigned i = 0; i <= static_cast<unsigned>(log_level::off); ++i) {
        known += ' ';
        known += to_string(static_cast<log_level>(i));
    }
    known += "; layers:";
    for (unsigned i = 0; i != log_layers; ++i) {
        known += ' ';
        known += to_string(static_cast<log_layer>(i));
    }
    throw failure("CORACLE_LOG: cannot read '" + std::string(text) + "'" + known +
                  "; for example CORACLE_LOG=info or CORACLE_LOG=warning,http=debug)");
}

}  // namespace coracle::tool
