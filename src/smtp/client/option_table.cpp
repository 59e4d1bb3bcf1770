#include "smtp/client/option_table.hpp"

#include "connect/client_option_rows.hpp"

#include <array>

namespace coracle::smtp::detail {

namespace {

using connect::detail::boolean_value;
using connect::detail::certificate_keys;
using connect::detail::choice_name;
using connect::detail::choice_value;
using connect::detail::count_value;
using connect::detail::ignored;
using connect::detail::joined;
using connect::detail::name_value;
using connect::detail::of_client;
using connect::detail::of_pool;
using connect::detail::option_group;
using connect::detail::proxy_certificate_keys;
using connect::detail::proxy_rows;
using connect::detail::reaching_rows;
using connect::detail::resolver_rows;
using connect::detail::secret_value;
using connect::detail::security_rows;
using connect::detail::size_value;
using connect::detail::sockets_rows;
using connect::detail::text_value;
using connect::detail::time_value;

constexpr choice_name starttls_names[] = {{"off", "0"}, {"wanted", "1"}, {"required", "2"}};
constexpr std::string_view starttls_wanted = "off, wanted or required";

// Digest is a scheme of HTTP. To mail it says that there is a password: the mechanism decides how
// that is proved.
constexpr choice_name mode_names[] = {
    {"any", ""}, {"none", ""}, {"basic", "digest"}, {"bearer", ""}};
constexpr std::string_view mode_wanted = "any, none, basic, digest or bearer";

constexpr choice_name follow_names[] = {
    {"none", "0"}, {"same_method", "1"}, {"standard", "2"}, {"first_only", "3"}};
constexpr std::string_view follow_wanted =
    "none (0), same_method (1), standard (2) or first_only (3)";

using follow_value = name_value<follow_names, follow_wanted>;
using mode_value = choice_value<mode_names, mode_wanted>;
using starttls_value = choice_value<starttls_names, starttls_wanted>;

using o = option_target;
using c = client_options;
using r = retry_options;
using p = pool_options;
using a = credentials;
using d = delivery_reports;

constexpr auto options = joined(
    reaching_rows<o>(),
    std::array{
        of_client<o, time_value, &c::greeting_timeout>("greeting_timeout",
                                                       "the first reply; 0: no limit"),
        of_client<o, time_value, &c::reply_timeout>("reply_timeout",
                                                    "the reply to a command; 0: no limit"),
        of_client<o, time_value, &c::idle_timeout>("idle_timeout",
                                                   "sending a block of the mail; 0: no limit"),
        of_client<o, time_value, &c::accept_timeout>(
            "accept_timeout", "the reply to the end of the mail; 0: no limit"),
        of_client<o, time_value, &c::total_timeout>(
            "total_timeout", "the whole mail, with retries; 0: no limit", "timeout"),
        of_client<o, starttls_value, &c::starttls>("starttls",
                                                   "TLS before the mail: off, wanted or required"),
        of_client<o, text_value, &c::hello>("hello", "our name in EHLO; empty: our address"),
        of_client<o, mode_value, &c::authentication, &a::mode>(
            "authentication_mode", "any, none, basic (a password) or bearer (a token)", "mode"),
        of_client<o, text_value, &c::authentication, &a::user>("authentication_user", "user",
                                                               "user"),
        of_client<o, secret_value, &c::authentication, &a::password>("authentication_secret",
                                                                     "password", "secret"),
        of_client<o, secret_value, &c::authentication, &a::token>("authentication_token",
                                                                  "token of OAuth 2.0", "token"),
        of_client<o, text_value, &c::authentication, &a::mechanisms>(
            "authentication_mechanisms",
            "the only ones to use, with commas between; empty: the best that is offered", "auth"),
        of_client<o, boolean_value, &c::authentication, &a::in_clear>(
            "authentication_in_clear", "send passwords and tokens without TLS too"),
        of_client<o, boolean_value, &c::rcpt_allow_fails>(
            "rcpt_allow_fails", "send to the accepted recipients when others are refused"),
        of_client<o, count_value, &c::mx_hosts>("mx_hosts",
                                                "of mx: most hosts of a domain that are tried"),
        of_client<o, count_value, &c::mx_domains>("mx_domains",
                                                  "of mx: most domains of a mail at a time"),
        of_client<o, boolean_value, &c::reports, &d::on_success>(
            "reports_on_success", "ask for a report when the mail is delivered (RFC 3461)"),
        of_client<o, boolean_value, &c::reports, &d::on_failure>(
            "reports_on_failure", "ask for a report when it cannot be delivered"),
        of_client<o, boolean_value, &c::reports, &d::on_delay>(
            "reports_on_delay", "ask for a report when it is delayed"),
        of_client<o, boolean_value, &c::reports, &d::never>("reports_never",
                                                            "ask for no report at all"),
        of_client<o, boolean_value, &c::reports, &d::with_content>(
            "reports_with_content", "ask for reports with the whole mail"),
        of_client<o, text_value, &c::reports, &d::envelope_id>(
            "reports_envelope_id", "the name of the mail in reports (ENVID)"),
        of_client<o, boolean_value, &c::require_tls>(
            "require_tls", "every server on the way has to use TLS (RFC 8689)"),
        of_client<o, boolean_value, &c::pipelining>(
            "pipelining", "send commands without waiting for each reply (RFC 2920)"),
        of_client<o, boolean_value, &c::chunking>("chunking", "send the mail with BDAT (RFC 3030)"),
        of_client<o, size_value, &c::reply_line_limit>("reply_line_limit",
                                                       "longest line of a reply"),
        of_client<o, count_value, &c::reply_lines_limit>("reply_lines_limit",
                                                         "most lines of a reply"),
    },
    proxy_rows<o>(),
    std::array{
        of_client<o, boolean_value, &c::proxy_from_environment>(
            "proxy_from_environment", "without proxy: take that of all_proxy"),
    },
    security_rows<o>(), sockets_rows<o>(),
    std::array{
        of_client<o, boolean_value, &c::verbose>("verbose", "log the dialogue, secrets as ***"),

        of_client<o, count_value, &c::retry, &r::retries>(
            "retry_retries", "most attempts besides the first", "retries"),
        of_client<o, time_value, &c::retry, &r::delay>(
            "retry_delay", "before the first retry; doubled for each further one"),
        of_client<o, time_value, &c::retry, &r::longest_delay>("retry_longest_delay",
                                                               "longest delay before a retry"),

        of_pool<o, count_value, &p::connections>("pool_connections",
                                                 "most open connections for each loop and server"),
        of_pool<o, time_value, &p::idle_time>("pool_idle_time",
                                              "idle connections are closed after this"),
        of_pool<o, count_value, &p::messages>("pool_messages",
                                              "most mails over one connection; 0: no limit"),
        of_pool<o, count_value, &p::waiting>(
            "pool_waiting", "most mails that wait for a connection, for each loop"),
    },
    resolver_rows<o>());

// Keys of HTTP that curlev reads for SMTP as well: one text serves both.
constexpr std::array ignored_options = {
    ignored<boolean_value, bool>("accept_compression"),
    ignored<boolean_value, bool>("cookies"),
    ignored<follow_value, std::string>("follow_location"),
    ignored<count_value, unsigned>("maxredirs"),
};

constexpr option_group groups[] = {
    {"authentication", "authentication_", ""},
    {"certificates", "", certificate_keys},
    {"proxy_certificates", "proxy_", proxy_certificate_keys},
    {"reports", "reports_", ""},
    {"retry", "retry_", ""},
    {"tls", "tls_", ""},
    {"sockets", "socket_", ""},
    {"resolver", "pool_resolver_", ""},
    {"pool", "pool_", ""},
};

constexpr connect::detail::option_family family = {
    .table = options,
    .groups = groups,
    .variables = "CORACLE_SMTP_",
    .single = "one mail",
    .ignored = ignored_options,
};

}  // namespace

const connect::detail::option_family& option_family() noexcept {
    return family;
}

}  // namespace coracle::smtp::detail
