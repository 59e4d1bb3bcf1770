#pragma once

#include <coracle/base/error.hpp>
#include <coracle/connect/option_description.hpp>
#include <coracle/http/client_options.hpp>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

// Options of a client read from text: "--option" arguments, configuration files, the environment.
//
// Every member of client_options but `tls_context` has a key, which is its name; members of nested
// structs have a prefix ("authentication_user", "retry_delay", "socket_mark"), and certificates
// have curl's names ("sslcert", "proxy_cainfo"). The members of pool_options have the prefix
// "pool_". docs/options.md lists all keys. The keys of curlev mean the same as there.
//
// Booleans are 0, 1, true, false, yes, no, on or off. Times are milliseconds, or have a unit:
// "250ms", "5s", "2min", "1h". Sizes are bytes, or have a unit: "16MiB", "2MB", "64k" (65,536).
//
// The functions below set all options of a text, or fail and change nothing: with
// `errc::unknown_option` for an unknown key, and the nearest known key in the subject; with
// `invalid_argument` for a bad value, and the expected form in the subject. An error never contains
// a value, so it never contains a secret. Of a repeated key the last one counts, except in JSON.
// Safe from any thread.
namespace coracle::http {

/// Reads "follow=standard, timeout=5s, proxy=\"http://a,b\"": keys and values with commas between
/// them. Blanks around keys and values do not count. A value in quotes may contain commas and
/// blanks; a backslash escapes a quote or a backslash in it. Keys of the pool fail.
std::expected<void, error> read_options(client_options& options, std::string_view text);
/// Reads options of the client and the pool.
std::expected<void, error> read_options(client_options& options, pool_options& pool,
                                        std::string_view text);

/// Reads a JSON object (RFC 8259) with these keys; values are strings, numbers, true and false;
/// "resolve" and other lists may be arrays of strings. "authentication", "proxy_authentication",
/// "retry", "tls", "sockets" ("socket_"), "pool" and "resolver" ("pool_resolver_") may be objects
/// whose keys have no prefix, and so may "certificates" and "proxy_certificates", with curl's keys.
/// A repeated key fails. For a text of several lines the subject of an error ends with the line: ",
/// line 3".
std::expected<void, error> read_json_options(client_options& options, std::string_view text);
std::expected<void, error> read_json_options(client_options& options, pool_options& pool,
                                             std::string_view text);

/// Reads the environment variables CORACLE_<KEY>, the key in upper case:
/// CORACLE_CONNECT_TIMEOUT=5s. Ignores empty ones and aliases of keys. No other thread may change
/// the environment meanwhile.
std::expected<void, error> read_environment_options(client_options& options);
std::expected<void, error> read_environment_options(client_options& options, pool_options& pool);

/// Returns all options, in the order of the structs.
std::vector<connect::option_description> list_options();

/// Returns a table of all options as text, one line each: key, default, unit and meaning, as for
/// --help.
std::string describe_options();

}  // namespace coracle::http
