#include "settings.hpp"

#include <coracle/runtime/backend_report.hpp>

#include <cstdlib>
#include <string>
#include <string_view>

namespace coracle::tool {

namespace {

std::string_view variable(const char* name) {
    const char* const text = std::getenv(name);
    return text == nullptr ? std::string_view() : std::string_view(text);
}

/// The library ignores a limit that it cannot read.
void check_stall_limit() {
    const std::string_view text = variable("CORACLE_STALL_LIMIT");
    const bool is_number = text.find_first_not_of("0123456789") == std::string_view::npos;
    if (is_number && text.size() < 10) return;
    throw wrong_usage("CORACLE_STALL_LIMIT: '" + std::string(text) +
                      "' is no number of milliseconds");
}

}  // namespace

void obey_environment(logger& log) {
    const std::string_view levels = variable("CORACLE_LOG");
    if (std::getenv("CORACLE_LOG") != nullptr && !log.configure(levels)) {
        throw wrong_usage("CORACLE_LOG: " + describe_unreadable_levels(levels));
    }
    const std::string_view backend = variable("CORACLE_BACKEND");
    if (!backend.empty() && !parse_backend_kind(backend)) {
        throw wrong_usage("CORACLE_BACKEND: '" + std::string(backend) +
                          "' is none of automatic, uring, epoll and poll");
    }
    check_stall_limit();
}

}  // namespace coracle::tool
