#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/client_options.hpp>

#include <expected>
#include <string>
#include <string_view>
#include <vector>

// Options of a client from text: "--option" arguments, configuration files, the environment.
//
// Every member of client_options has a key, which is its name; those of nested structs have a
// prefix ("authentication_user", "retry_delay"), and certificates have curl's names ("sslcert",
// "proxy_cainfo"). The members of pool_options have the prefix "pool_". docs/options.md has them
// all. curlev's keys mean what they mean there.
//
// Booleans are 0, 1, true, false, yes, no, on or off. Times are milliseconds, or have a unit:
// "250ms", "5s", "2min", "1h". Sizes are bytes, or have a unit: "16MiB", "2MB", "64k" (65,536).
//
// The functions below set all that a text says, or fail and change nothing: with
// `errc::unknown_option` for a key that there is none of, and the nearest key in the subject; with
// `invalid_argument` for a value, and what is wanted in the subject. No value stands in an error,
// so no secret does. A key that comes twice counts where it came last, but for JSON. They may be
// called from any thread.
namespace coracle::http {

/// "follow=standard, timeout=5s, proxy=\"http://a,b\"": keys and values with commas between them.
/// Blanks around keys and values do not count. A value in quotes may hold commas and blanks; in it
/// a backslash stands before a quote or a backslash. Keys of the pool fail here.
std::expected<void, error> read_options(client_options& options, std::string_view text);
/// The same, with the keys of the pool.
std::expected<void, error> read_options(client_options& options, pool_options& pool,
                                        std::string_view text);

/// A JSON object (RFC 8259) with the same keys; values are strings, numbers, or true and false;
/// "resolve" may be an array of strings. "authentication", "proxy_authentication", "retry" and
/// "pool" may be objects, with keys without their prefix, and so may "certificates" and
/// "proxy_certificates", with those of curl. A key that comes twice fails.
std::expected<void, error> read_json_options(client_options& options, std::string_view text);
std::expected<void, error> read_json_options(client_options& options, pool_options& pool,
                                             std::string_view text);

/// The environment variables CORACLE_<KEY>, the key in upper case: CORACLE_CONNECT_TIMEOUT=5s.
/// Empty ones do not count, and neither do the other names that curlev has for a key. Reads the
/// environment, which no other thread may change meanwhile.
std::expected<void, error> read_environment_options(client_options& options);
std::expected<void, error> read_environment_options(client_options& options, pool_options& pool);

struct option_description {
    std::string_view key;
    /// What else it may be called, with spaces between.
    std::string_view aliases;
    /// boolean, number, size, time, text, secret, choice or list.
    std::string_view type;
    /// Can be read back. Empty: none.
    std::string default_value;
    /// Of a number without a unit.
    std::string_view unit;
    std::string_view meaning;
    /// A key of pool_options.
    bool is_of_pool;
};

/// Every option, in the order of the structs.
std::vector<option_description> list_options();

/// The same as a table of text, one line each: key, default, unit and meaning, as for --help.
std::string describe_options();

}  // namespace coracle::http
