#pragma once

#include <coracle/base/log.hpp>

#include <string_view>

namespace coracle::tool {

/// A sink of logs, for a `progress_display` as `user`: shows lines of --verbose as they are, above
/// the bars, and others as logs are.
void log_or_print(void* user, log_level level, log_layer layer, std::string_view text);

}  // namespace coracle::tool
