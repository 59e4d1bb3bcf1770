#pragma once

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/http/client_options.hpp>

#include <cstddef>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

// The file of passwords that ftp, curl and other programs read.
namespace coracle::http::detail {

/// The largest netrc file, in bytes.
inline constexpr std::size_t netrc_limit = 1024 * 1024;

/// Returns the user and password of a netrc file for `host`, compared without case, and for `user`
/// if it is not empty. The first matching entry counts; `default` matches every host. A value may
/// be in quotes, where a backslash escapes the next byte (\n, \r and \t are control bytes). "#"
/// begins a comment where a keyword is allowed. Text after an unclosed quote is ignored.
std::optional<credentials> find_netrc(std::string_view text, std::string_view host,
                                      std::string_view user = {});

struct netrc_file {
    secret text;
    std::string path;
    /// The file is readable by others than its owner. Like curl we use it, but warn the user.
    bool others_may_read = false;
};

/// Reads $NETRC, or ~/.netrc if that is not set. Blocks. Fails with `no_such_file_or_directory`
/// when there is none, and as `fs::read_file` does.
std::expected<netrc_file, error> load_netrc();

}  // namespace coracle::http::detail
