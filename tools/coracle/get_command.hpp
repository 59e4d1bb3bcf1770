#pragma once

#include <coracle/http/client_options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tool {

/// Exit codes of the command itself; failures of requests have those of curl.
enum get_exit : int {
    get_ok = 0,
    get_usage = 2,
    get_malformed_url = 3,
    get_http_error = 22,   ///< with --fail, a status of 400 or above
    get_write_error = 23,  ///< a file or the standard output cannot be written
    get_read_error = 26,   ///< a file to send cannot be read
    get_range_error = 33,  ///< the server cannot resume where the file ends
    get_bad_resume = 36,   ///< the file is shorter than the offset to resume at
    get_wrong_checksum = 100,
    get_interrupted = 130,
};

/// A body of a request, as given.
struct body_text {
    enum class kind : std::uint8_t { data, raw, binary, encoded, json };
    kind how = kind::data;
    std::string text;
};

/// The settings of `coracle get`.
struct get_settings {
    std::vector<std::string> urls;
    bool globbing = true;  ///< URLs may have patterns
    http::client_options client;
    http::pool_options pool;
    unsigned parallel = 1;

    std::string method;  ///< empty: depends on the other settings
    bool head = false;
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<std::string> left_out;  ///< names of fields that are not sent
    bool has_media_type = true;         ///< data is sent with its media type
    std::vector<body_text> bodies;
    bool data_in_url = false;  ///< the body is a query in place
    std::vector<std::string>
        uploads;                     ///< paths, for the URL at the same place; "-": standard input
    std::vector<std::string> parts;  ///< "name=value", "name=@file", of multipart/form-data

    std::vector<std::string> outputs;  ///< for the URL at the same place; "-": standard output
    bool name_from_url = false;
    bool resume = false;
    std::optional<std::uint64_t> resume_from;  ///< an offset; nothing: the end of the file
    std::vector<std::string> checksums;        ///< SHA-256, for the URL at the same place
    std::vector<std::string> cookie_files;     ///< read before; "-": standard input
    std::string cookie_jar;                    ///< written at the end; "-": standard output

    bool include_head = false;
    bool fail = false;
    bool silent = false;
    bool show_error = false;
    bool no_progress = false;
    bool timing = false;
};

/// Makes the requests and returns the exit code. Throws `failure` for invalid settings.
int get(const get_settings& settings);

}  // namespace coracle::tool
