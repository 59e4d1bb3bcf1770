#pragma once

#include <coracle/http/client_options.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace coracle::tool {

/// Exit codes that are the command's own; failures of requests end with those of curl.
enum get_exit : int {
    get_ok = 0,
    get_usage = 2,
    get_http_error = 22,   ///< with --fail, a status of 400 or above
    get_write_error = 23,  ///< a file or the standard output cannot be written
    get_read_error = 26,   ///< a file to send cannot be read
    get_range_error = 33,  ///< the server does not go on where the file ends
    get_wrong_checksum = 100,
    get_interrupted = 130,
};

/// A body of a request, as it was given.
struct body_text {
    enum class kind : std::uint8_t { data, raw, binary, json };
    kind how = kind::data;
    std::string text;
};

/// What `coracle get` was told.
struct get_settings {
    std::vector<std::string> urls;
    http::client_options client;
    unsigned parallel = 1;

    std::string method;  ///< empty: what follows from the rest
    bool head = false;
    std::vector<std::pair<std::string, std::string>> fields;
    std::vector<body_text> bodies;
    std::vector<std::string> parts;  ///< "name=value", "name=@file", of multipart/form-data

    std::vector<std::string> outputs;  ///< for the URL at the same place; "-": standard output
    bool name_from_url = false;
    bool resume = false;
    std::vector<std::string> checksums;  ///< SHA-256, for the URL at the same place
    std::string cookie_file;             ///< read before
    std::string cookie_jar;              ///< written behind

    bool include_head = false;
    bool fail = false;
    bool silent = false;
    bool show_error = false;
    bool no_progress = false;
    bool timing = false;
};

/// Makes the requests; gives the exit code. Throws `failure` for what cannot be asked for.
int get(const get_settings& settings);

}  // namespace coracle::tool
