#include "http/client/option_table.hpp"

#include "connect/client_option_rows.hpp"

#include <array>

namespace coracle::http::detail {

namespace {

using connect::detail::boolean_value;
using connect::detail::choice_name;
using connect::detail::choice_value;
using connect::detail::count_value;
using connect::detail::joined;
using connect::detail::of_client;
using connect::detail::of_pool;
using connect::detail::percent_value;
using connect::detail::proxy_rows;
using connect::detail::rate_value;
using connect::detail::reaching_rows;
using connect::detail::resolver_rows;
using connect::detail::schemes_value;
using connect::detail::secret_value;
using connect::detail::security_rows;
using connect::detail::size_value;
using connect::detail::sockets_rows;
using connect::detail::text_value;
using connect::detail::time_value;

constexpr choice_name follow_names[] = {
    {"none", "0"}, {"same_method", "1"}, {"standard", "2"}, {"first_only", "3"}};
constexpr std::string_view follow_wanted =
    "none (0), same_method (1), standard (2) or first_only (3)";
constexpr choice_name http_version_names[] = {
    {"auto", "2"}, {"1.1", "http1.1"}, {"2-prior-knowledge", "http2-prior-knowledge"}};
constexpr std::string_view http_version_wanted = "auto (2), 1.1 or 2-prior-knowledge";
constexpr choice_name scheme_names[] = {
    {"none", ""}, {"basic", ""}, {"digest", ""}, {"bearer", ""}};
constexpr std::string_view scheme_wanted = "none, basic, digest or bearer";

using follow_value = choice_value<follow_names, follow_wanted>;
using http_version_value = choice_value<http_version_names, http_version_wanted>;
using scheme_value = choice_value<scheme_names, scheme_wanted>;

using o = option_target;
using c = client_options;
using r = retry_options;
using p = pool_options;
using x = client_h2_options;
using a = credentials;

constexpr auto options = joined(
    reaching_rows<o>(),
    std::array{
        of_client<o, time_value, &c::first_byte_timeout>(
            "first_byte_timeout",
            "from the end of the request to the head of the response; 0: no limit"),
        of_client<o, time_value, &c::idle_timeout>(
            "idle_timeout", "while nothing is received, and nothing sent; 0: no limit"),
        of_client<o, time_value, &c::total_timeout>(
            "total_timeout", "the whole call, with redirects and retries; 0: no limit", "timeout"),
        of_client<o, rate_value, &c::low_speed_limit>(
            "low_speed_limit", "a slower call during low_speed_time fails; 0: off"),
        of_client<o, time_value, &c::low_speed_time>("low_speed_time",
                                                     "the time over which the speed is measured"),

        of_client<o, size_value, &c::body_limit>("body_limit",
                                                 "largest body that is read into memory"),
        of_client<o, size_value, &c::response_limit>(
            "response_limit", "largest body of any response, decoded; 0: no limit"),
        of_client<o, size_value, &c::receive_block>(
            "receive_block", "largest block that a fast body is received into"),
        of_client<o, size_value, &c::head_limit>("head_limit", "largest head of a response"),
        of_client<o, count_value, &c::field_limit>("field_limit",
                                                   "most fields of the head of a response"),
        of_client<o, count_value, &c::interim_limit>(
            "interim_limit", "most interim responses (1xx) before the final one"),
        of_client<o, rate_value, &c::rate_limit>("rate_limit", "in each direction; 0: no limit"),

        of_client<o, http_version_value, &c::http_version>(
            "http_version", "auto: HTTP/2 or HTTP/1.1 by ALPN; 1.1; 2-prior-knowledge"),
        of_client<o, follow_value, &c::follow>(
            "follow", "redirects: none, same_method, standard (as the status says) or first_only",
            "follow_location"),
        of_client<o, count_value, &c::redirects>("redirects", "most redirects that are followed",
                                                 "maxredirs"),
        of_client<o, schemes_value, &c::safe_protocols>("safe_protocols",
                                                        "schemes that URLs and redirects may have"),

        of_client<o, boolean_value, &c::lenient>(
            "lenient", "accept what old servers send: bare LF, blanks before colons"),
        of_client<o, boolean_value, &c::path_as_is>(
            "path_as_is", "send path and query unchanged, with dot segments"),

        of_client<o, boolean_value, &c::accept_compression>(
            "accept_compression", "accept gzip, deflate, brotli and zstd, and decode them"),
        of_client<o, count_value, &c::compression_ratio>(
            "compression_ratio", "most decoded bytes for each received one; 0: no limit"),
        of_client<o, boolean_value, &c::cookies>("cookies", "receive and send cookies"),

        of_client<o, scheme_value, &c::authentication, &a::scheme>(
            "authentication_mode", "none, basic, digest or bearer", "mode"),
        of_client<o, text_value, &c::authentication, &a::user>("authentication_user", "user name",
                                                               "user"),
        of_client<o, secret_value, &c::authentication, &a::password>(
            "authentication_secret", "the password, or the token", "secret"),
        of_client<o, boolean_value, &c::netrc>(
            "netrc", "look up the host in ~/.netrc if there are no other credentials"),
    },
    proxy_rows<o>(),
    std::array{
        of_client<o, boolean_value, &c::proxy_from_environment>(
            "proxy_from_environment",
            "use the environment (http_proxy and so on) if proxy is empty"),
        of_client<o, scheme_value, &c::proxy_authentication, &a::scheme>(
            "proxy_authentication_mode", "as authentication_mode, for the proxy"),
        of_client<o, text_value, &c::proxy_authentication, &a::user>("proxy_authentication_user",
                                                                     "user name for the proxy"),
        of_client<o, secret_value, &c::proxy_authentication, &a::password>(
            "proxy_authentication_secret", "the password for the proxy"),
    },
    security_rows<o>(), sockets_rows<o>(),
    std::array{
        of_client<o, size_value, &c::expect_continue_above>(
            "expect_continue_above",
            "send Expect: 100-continue before a larger body; 0: only for Digest"),
        of_client<o, text_value, &c::user_agent>("user_agent", "the User-Agent field"),
        of_client<o, boolean_value, &c::verbose>(
            "verbose", "log connections and the heads sent and received, secrets masked"),

        of_client<o, count_value, &c::retry, &r::retries>(
            "retry_retries", "most retries, besides the first attempt", "retries"),
        of_client<o, time_value, &c::retry, &r::delay>(
            "retry_delay", "before the first retry; doubled for each further one"),
        of_client<o, boolean_value, &c::retry, &r::backoff>(
            "retry_backoff", "double the delay each time, and subtract a random part"),
        of_client<o, time_value, &c::retry, &r::longest_delay>(
            "retry_longest_delay", "longest delay; a longer Retry-After: no retry"),
        of_client<o, time_value, &c::retry, &r::attempt_timeout>(
            "retry_attempt_timeout", "limit of one attempt; 0: only the whole call is limited"),
        of_client<o, percent_value, &c::retry, &r::budget_percent>(
            "retry_budget_percent", "retries as a share of all requests of a client; 0: no budget"),
        of_client<o, boolean_value, &c::retry, &r::not_idempotent>(
            "retry_not_idempotent", "retry POST and PATCH even after bytes were sent"),
        of_client<o, time_value, &c::retry, &r::hedge_after>(
            "retry_hedge_after", "time without a response before a second copy is sent; 0: never"),

        of_pool<o, count_value, &p::connections_per_host>(
            "pool_connections_per_host", "most open connections for each loop and origin"),
        of_pool<o, count_value, &p::connections>("pool_connections",
                                                 "most open connections for each loop"),
        of_pool<o, count_value, &p::streams>("pool_streams",
                                             "most exchanges on one HTTP/2 connection"),
        of_pool<o, time_value, &p::idle_time>("pool_idle_time",
                                              "idle connections are closed after this time"),
        of_pool<o, time_value, &p::lifetime>(
            "pool_lifetime", "no request begins on an older connection; 0: no limit"),
        of_pool<o, count_value, &p::waiting>(
            "pool_waiting", "most requests that wait for a connection, for each loop"),
        of_pool<o, count_value, &p::handshakes>(
            "pool_handshakes", "most TLS handshakes at a time with a near origin; 0: no limit"),
        of_pool<o, time_value, &p::h2, &x::ping_after>(
            "pool_h2_ping_after", "silence of an HTTP/2 server before a PING; 0: none"),
        of_pool<o, boolean_value, &p::h2, &x::ping_idle>("pool_h2_ping_idle",
                                                         "also while no request is under way"),
        of_pool<o, time_value, &p::h2, &x::ping_timeout>(
            "pool_h2_ping_timeout", "silence after that PING before the connection counts as lost"),
        of_pool<o, boolean_value, &p::h2, &x::coalesce>(
            "pool_h2_coalesce",
            "use an HTTP/2 connection to another origin with the same address and certificate"),
        of_pool<o, count_value, &p::h2, &x::resets>(
            "pool_h2_resets", "most calls given up at once on an HTTP/2 connection that goes on"),
        of_pool<o, count_value, &p::h2, &x::resets_per_second>("pool_h2_resets_per_second",
                                                               "so many more each second"),
    },
    resolver_rows<o>());

constexpr coracle::connect::detail::option_group groups[] = {
    {"authentication", "authentication_", ""},
    {"proxy_authentication", "proxy_authentication_", ""},
    {"certificates", "", coracle::connect::detail::certificate_keys},
    {"proxy_certificates", "proxy_", coracle::connect::detail::proxy_certificate_keys},
    {"retry", "retry_", ""},
    {"tls", "tls_", ""},
    {"sockets", "socket_", ""},
    {"resolver", "pool_resolver_", ""},
    {"pool", "pool_", ""},
};

constexpr coracle::connect::detail::option_family family = {
    .table = options,
    .groups = groups,
    .variables = "CORACLE_",
    .single = "one request",
    .foreign = "rcpt_allow_fails",
    .foreign_meaning = "rcpt_allow_fails is of SMTP only",
};

}  // namespace

const coracle::connect::detail::option_family& option_family() noexcept {
    return family;
}

std::span<const option> option_table() noexcept {
    return options;
}

}  // namespace coracle::http::detail
