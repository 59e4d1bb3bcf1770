#include "settings.hpp"

#include <cstdlib>
#include <string>
#include <utility>

namespace coracle::tool {

void configure_log(logger& log) {
    const char* text = std::getenv("CORACLE_LOG");
    if (text == nullptr || log.configure(text)) return;
    throw failure("CORACLE_LOG: " + describe_unreadable_levels(text));
}

}  // namespace coracle::tool
