#pragma once

#include <coracle/base/error.hpp>
#include <coracle/connect/option_description.hpp>
#include <coracle/smtp/client_options.hpp>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

// Options of a mail client from text: configuration files, arguments, the environment. Texts are
// those of coracle/http/client_settings.hpp, and so are keys that mean the same;
// docs/mail-options.md lists all keys.
//
// The functions below set all that a text says, or fail and change nothing: with
// `errc::unknown_option` for a key that there is none of, and with `invalid_argument` for a value.
// No value stands in an error, so no secret does. They may be called from any thread.
namespace coracle::smtp {

/// "starttls=required, user=joe, secret=\"a,b\"". Keys of the pool fail here.
std::expected<void, error> read_options(client_options& options, std::string_view text);
std::expected<void, error> read_options(client_options& options, pool_options& pool,
                                        std::string_view text);

/// A JSON object (RFC 8259) with the same keys.
std::expected<void, error> read_json_options(client_options& options, std::string_view text);
std::expected<void, error> read_json_options(client_options& options, pool_options& pool,
                                             std::string_view text);

/// The environment variables CORACLE_SMTP_<KEY>, the key in upper case:
/// CORACLE_SMTP_AUTHENTICATION_USER=joe.
/// Empty ones do not count. Reads the environment, which no other thread may change meanwhile.
std::expected<void, error> read_environment_options(client_options& options);
std::expected<void, error> read_environment_options(client_options& options, pool_options& pool);

/// Returns all options, in the order of the structs.
std::vector<connect::option_description> list_options();

/// Returns a table of all options as text, one line each: key, default, unit and meaning, as for
/// --help.
std::string describe_options();

}  // namespace coracle::smtp
