#pragma once

#include <coracle/http/access_log.hpp>
#include <coracle/http/files.hpp>
#include <coracle/tls/options.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace coracle::tool {

/// The settings of `coracle serve`.
struct serve_settings {
    /// The directory whose files are served; without it the welcome page is.
    std::optional<std::string> directory;
    /// Empty: one on the loopback.
    std::vector<std::string> listen;
    /// Event loops; 0: one for each core.
    unsigned threads = 0;
    bool pin = false;
    /// A path, or "-" for standard output; nothing: no log.
    std::optional<std::string> access_log;
    http::access_log_format log_format = http::access_log_format::common;
    double drain_seconds = 30;
    std::vector<tls::certificate_source> certificates;
    bool self_signed = false;
    std::string client_authorities;  ///< a path; empty: clients need no certificate
    bool https_only = false;
    bool dashboard = false;
    http::file_options files;
    std::string handover;      ///< a Unix path; empty: none
    bool checks_only = false;  ///< reads what the settings name, and does not serve
    /// Reads the settings once more, for a reload; none without a file of --config.
    std::function<serve_settings()> again;

    /// Then standard output is for records alone, which a program may read.
    bool logs_to_output() const noexcept {
        return access_log && (access_log->empty() || *access_log == "-");
    }
};

/// From "GLOB=VALUE" and "EXTENSION=TYPE". Throw `failure`.
http::cache_rule parse_cache_rule(const std::string& text);
http::media_type_rule parse_media_type_rule(const std::string& text);

/// Certificates and keys in pairs; fewer keys than certificates are none at all. Throws `failure`.
std::vector<tls::certificate_source> certificates_of(const std::vector<std::string>& certificates,
                                                     const std::vector<std::string>& keys,
                                                     const std::string& password_file);

/// Serves until a signal and the end of the drain. Throws `failure` and `exception`.
void serve(const serve_settings& settings);

/// Throws the `failure` for an access log that cannot be written.
[[noreturn]] void cannot_write_log(const std::string& path, const std::error_code& why);

}  // namespace coracle::tool
