#pragma once

#include <coracle/http/access_log.hpp>
#include <coracle/http/files.hpp>

#include <optional>
#include <string>
#include <vector>

namespace coracle::tool {

/// What `coracle serve` was told.
struct serve_settings {
    /// Whose files are served; without it the welcome page is.
    std::optional<std::string> directory;
    std::vector<std::string> listen{"127.0.0.1:8080"};
    /// Event loops; 0: one for each core.
    unsigned threads = 0;
    bool pin = false;
    /// A path, or "-" for standard output; nothing: no log.
    std::optional<std::string> access_log;
    http::access_log_format log_format = http::access_log_format::common;
    double drain_seconds = 30;
    http::file_options files;
};

/// From "GLOB=VALUE" and "EXTENSION=TYPE". Throw `failure`.
http::cache_rule parse_cache_rule(const std::string& text);
http::media_type_rule parse_media_type_rule(const std::string& text);

/// Serves until a signal and the end of the drain. Throws `failure` and `exception`.
void serve(const serve_settings& settings);

}  // namespace coracle::tool
