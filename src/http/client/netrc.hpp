#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/http/client_options.hpp>

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

// The file in which users keep their passwords for ftp, curl and others.
namespace coracle::http::detail {

/// Bytes of such a file.
inline constexpr std::size_t netrc_limit = 1024 * 1024;

/// The user and password that a netrc file has for `host`, which compares without case; with a
/// `user` only an entry for this one. The first that fits counts, and `default` fits every host. A
/// value may stand in quotes, in which a backslash takes the next byte as it is (\n, \r and \t are
/// control bytes). "#" begins a comment where a keyword could stand. What stands behind a quote
/// that does not end is not read.
std::optional<credentials> find_netrc(std::string_view text, std::string_view host,
                                      std::string_view user = {});

struct netrc_file {
    secret text;
    std::string path;
    /// Others than its owner may read it. Like curl we go on, but the user should know.
    bool others_may_read = false;
};

/// Reads $NETRC, or ~/.netrc where that is not set. Blocks. Fails with
/// `no_such_file_or_directory` when there is none, and as `fs::read_file` does.
std::expected<netrc_file, error> load_netrc();

}  // namespace coracle::http::detail
