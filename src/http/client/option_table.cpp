#include "http/client/option_table.hpp"

#include "base/ascii.hpp"

#include <algorithm>
#include <array>
#include <type_traits>
#include <vector>

namespace coracle::http::detail {
namespace {

constexpr choice_name follow_names[] = {
    {"none", "0"}, {"same_method", "1"}, {"standard", "2"}, {"first_only", "3"}};
constexpr std::string_view follow_wanted =
    "none (0), same_method (1), standard (2) or first_only (3)";
constexpr choice_name scheme_names[] = {
    {"none", ""}, {"basic", ""}, {"digest", ""}, {"bearer", ""}};
constexpr std::string_view scheme_wanted = "none, basic, digest or bearer";
constexpr choice_name family_names[] = {{"any", ""}, {"v4", "4"}, {"v6", "6"}};
constexpr std::string_view family_wanted = "any, v4 or v6";
constexpr choice_name certificate_names[] = {{"PEM", ""}, {"DER", ""}, {"P12", ""}};
constexpr std::string_view certificate_wanted = "PEM, DER, P12, or nothing: as the file tells";
constexpr choice_name key_names[] = {{"PEM", ""}, {"DER", ""}, {"ENG", ""}, {"PROV", ""}};
constexpr std::string_view key_wanted = "PEM, DER, ENG, PROV, or nothing: as the file tells";

using follow_value = choice_value<follow_names, follow_wanted>;
using scheme_value = choice_value<scheme_names, scheme_wanted>;
using family_value = choice_value<family_names, family_wanted>;
using certificate_type_value = name_value<certificate_names, certificate_wanted>;
using key_type_value = name_value<key_names, key_wanted>;

// target.client.retry.delay, of pointers to these members.
template <auto... Members>
auto& member(auto& target) noexcept {
    return (target.*....*Members);
}

template <class Value, auto... Members>
constexpr option make(std::string_view key, std::string_view aliases, std::string_view meaning) {
    constexpr bool of_pool =
        (std::is_same_v<decltype(Members), pool_options option_target::*> || ...);
    return {
        .key = key,
        .aliases = aliases,
        .meaning = meaning,
        .unit = Value::unit,
        .wanted = Value::wanted,
        .type = Value::type,
        .is_of_pool = of_pool,
        .is_sensitive = std::is_same_v<Value, secret_value> || std::is_same_v<Value, proxy_value>,
        .set = [](option_target& target,
                  std::string_view text) { return Value::read(text, member<Members...>(target)); },
        .get = [](const option_target& target) { return Value::write(member<Members...>(target)); },
    };
}

template <class Value, auto... Members>
constexpr option of_client(std::string_view key, std::string_view meaning,
                           std::string_view aliases = "") {
    return make<Value, &option_target::client, Members...>(key, aliases, meaning);
}

template <class Value, auto... Members>
constexpr option of_pool(std::string_view key, std::string_view meaning) {
    return make<Value, &option_target::pool, Members...>(key, "", meaning);
}

using c = client_options;
using r = retry_options;
using p = pool_options;
using a = credentials;
using s = certificate_options;

constexpr option options[] = {
    of_client<time_value, &c::resolve_timeout>("resolve_timeout",
                                               "how long names may take to resolve; 0: for ever"),
    of_client<time_value, &c::connect_timeout>("connect_timeout",
                                               "names, TCP, proxy and TLS together; 0: for ever"),
    of_client<time_value, &c::tls_timeout>("tls_timeout", "the TLS handshake; 0: for ever"),
    of_client<time_value, &c::first_byte_timeout>(
        "first_byte_timeout", "from the sent request to the head of the answer; 0: for ever"),
    of_client<time_value, &c::idle_timeout>("idle_timeout",
                                            "between two pieces, either way; 0: for ever"),
    of_client<time_value, &c::total_timeout>(
        "total_timeout", "all of it, with redirects and retries; 0: for ever", "timeout"),
    of_client<rate_value, &c::low_speed_limit>(
        "low_speed_limit", "fewer than this, over low_speed_time, end it; 0: off"),
    of_client<time_value, &c::low_speed_time>("low_speed_time", "over which speed is measured"),

    of_client<size_value, &c::body_limit>("body_limit",
                                          "what a body that is taken as a whole may have"),
    of_client<size_value, &c::response_limit>(
        "response_limit", "what the body of any answer may have, decoded; 0: no limit"),
    of_client<size_value, &c::receive_block>(
        "receive_block", "largest block that a body which comes fast is received into"),
    of_client<size_value, &c::head_limit>("head_limit", "what the head of an answer may have"),
    of_client<count_value, &c::interim_limit>("interim_limit",
                                              "interim answers (1xx) before the final one"),
    of_client<rate_value, &c::rate_limit>("rate_limit", "in each direction; 0: as fast as can be"),

    of_client<follow_value, &c::follow>(
        "follow", "redirects: none, same_method, standard (as the status says) or first_only",
        "follow_location"),
    of_client<count_value, &c::redirects>("redirects", "how many are followed at most",
                                          "maxredirs"),
    of_client<schemes_value, &c::safe_protocols>("safe_protocols",
                                                 "schemes that URLs and redirects may have"),

    of_client<boolean_value, &c::accept_compression>(
        "accept_compression", "ask for gzip, deflate, brotli and zstd, and decode them"),
    of_client<count_value, &c::compression_ratio>(
        "compression_ratio", "how much larger than what was received the decoded body may get"),
    of_client<boolean_value, &c::cookies>("cookies", "receive and send cookies"),

    of_client<scheme_value, &c::authentication, &a::scheme>(
        "authentication_mode", "none, basic, digest or bearer", "mode"),
    of_client<text_value, &c::authentication, &a::user>("authentication_user", "who we are",
                                                        "user"),
    of_client<secret_value, &c::authentication, &a::password>(
        "authentication_secret", "the password, or the token", "secret"),
    of_client<boolean_value, &c::netrc>(
        "netrc", "look for the host in ~/.netrc when there are no other credentials"),

    of_client<proxy_value, &c::proxy>(
        "proxy", "URL of an HTTP, HTTPS or SOCKS proxy, with user and password"),
    of_client<text_value, &c::no_proxy>("no_proxy",
                                        "hosts and networks reached without it; *: all"),
    of_client<boolean_value, &c::proxy_from_environment>(
        "proxy_from_environment", "take http_proxy and its like where proxy is empty"),
    of_client<scheme_value, &c::proxy_authentication, &a::scheme>(
        "proxy_authentication_mode", "as authentication_mode, for the proxy"),
    of_client<text_value, &c::proxy_authentication, &a::user>("proxy_authentication_user",
                                                              "who we are to the proxy"),
    of_client<secret_value, &c::proxy_authentication, &a::password>("proxy_authentication_secret",
                                                                    "the password for the proxy"),

    of_client<boolean_value, &c::insecure>("insecure", "take any certificate for any name"),
    of_client<text_value, &c::engine>("engine", "OpenSSL provider that keys are in"),
    of_client<text_value, &c::certificates, &s::certificate>("sslcert", "file of our certificate"),
    of_client<certificate_type_value, &c::certificates, &s::certificate_type>(
        "sslcerttype", "PEM, DER or P12; empty: as the file tells"),
    of_client<text_value, &c::certificates, &s::key>("sslkey", "file of our key"),
    of_client<key_type_value, &c::certificates, &s::key_type>(
        "sslkeytype", "PEM, DER, ENG or PROV; empty: as the file tells"),
    of_client<secret_value, &c::certificates, &s::key_password>("keypasswd", "password of our key"),
    of_client<text_value, &c::certificates, &s::authorities>(
        "cainfo", "PEM file of whom we trust, in place of the system's"),
    of_client<text_value, &c::certificates, &s::authority_folder>(
        "capath", "folder of hashed names of whom we trust"),
    of_client<text_value, &c::proxy_certificates, &s::certificate>(
        "proxy_sslcert", "file of our certificate for the proxy"),
    of_client<certificate_type_value, &c::proxy_certificates, &s::certificate_type>(
        "proxy_sslcerttype", "as sslcerttype, for the proxy"),
    of_client<text_value, &c::proxy_certificates, &s::key>("proxy_sslkey",
                                                           "file of our key for the proxy"),
    of_client<key_type_value, &c::proxy_certificates, &s::key_type>("proxy_sslkeytype",
                                                                    "as sslkeytype, for the proxy"),
    of_client<secret_value, &c::proxy_certificates, &s::key_password>(
        "proxy_keypasswd", "password of our key for the proxy"),
    of_client<text_value, &c::proxy_certificates, &s::authorities>("proxy_cainfo",
                                                                   "as cainfo, for the proxy"),
    of_client<text_value, &c::proxy_certificates, &s::authority_folder>("proxy_capath",
                                                                        "as capath, for the proxy"),

    of_client<text_value, &c::unix_socket>(
        "unix_socket", "path of a Unix socket that is connected to; @name: abstract"),
    of_client<overrides_value, &c::resolve>(
        "resolve", "host:port:address[,address...], with \";\" between: instead of resolving"),
    of_client<text_value, &c::interface_name>(
        "interface_name", "local address of our sockets, or an interface", "interface"),
    of_client<family_value, &c::family>("family", "addresses of one family only: any, v4 or v6"),

    of_client<size_value, &c::expect_continue_above>("expect_continue_above",
                                                     "ask before sending a larger body; 0: never"),
    of_client<text_value, &c::user_agent>("user_agent", "the field User-Agent"),
    of_client<boolean_value, &c::verbose>(
        "verbose", "log connections, and what is sent and received, secrets masked"),

    of_client<count_value, &c::retry, &r::retries>(
        "retry_retries", "how often at most, besides the first attempt", "retries"),
    of_client<time_value, &c::retry, &r::delay>(
        "retry_delay", "before the first retry; doubled for each further one"),
    of_client<time_value, &c::retry, &r::longest_delay>("retry_longest_delay", "at most"),
    of_client<time_value, &c::retry, &r::attempt_timeout>(
        "retry_attempt_timeout", "one attempt may take so long; 0: only the whole is limited"),
    of_client<percent_value, &c::retry, &r::budget_percent>(
        "retry_budget_percent", "retries in all of the requests of a client"),
    of_client<boolean_value, &c::retry, &r::not_idempotent>(
        "retry_not_idempotent", "POST and PATCH too, once bytes were sent"),
    of_client<time_value, &c::retry, &r::hedge_after>(
        "retry_hedge_after", "send a second copy if no answer has begun by then; 0: never"),

    of_pool<count_value, &p::connections_per_host>("pool_connections_per_host",
                                                   "open at a time, per loop and origin"),
    of_pool<count_value, &p::connections>("pool_connections", "open at a time, per loop"),
    of_pool<time_value, &p::idle_time>("pool_idle_time", "an idle connection is closed after this"),
    of_pool<time_value, &p::lifetime>("pool_lifetime",
                                      "no request is begun on an older connection; 0: no limit"),
    of_pool<count_value, &p::waiting>("pool_waiting",
                                      "requests that wait for a connection, per loop"),
    of_pool<count_value, &p::handshakes>(
        "pool_handshakes", "TLS handshakes at a time with an origin that is near; 0: no limit"),
};

bool has_name(const option& o, std::string_view key) noexcept {
    if (o.key == key) return true;
    for (std::string_view rest = o.aliases; !rest.empty();) {
        if (coracle::detail::take_item(rest, ' ') == key) return true;
    }
    return false;
}

// How many bytes have to be put in, taken out, replaced, or exchanged with the next (the "optimal
// string alignment" distance).
std::size_t distance(std::string_view from, std::string_view to) {
    std::vector<std::size_t> before(to.size() + 1);
    std::vector<std::size_t> last(to.size() + 1);
    std::vector<std::size_t> row(to.size() + 1);
    for (std::size_t j = 0; j <= to.size(); ++j) last[j] = j;
    for (std::size_t i = 1; i <= from.size(); ++i) {
        row[0] = i;
        for (std::size_t j = 1; j <= to.size(); ++j) {
            const bool same = from[i - 1] == to[j - 1];
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
            const bool exchanged =
                i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
            if (exchanged) row[j] = std::min(row[j], before[j - 2] + 1);
        }
        before.swap(last);
        last.swap(row);
    }
    return last[to.size()];
}

}  // namespace

std::span<const option> option_table() noexcept {
    return options;
}

const option* find_option(std::string_view key) noexcept {
    const auto found =
        std::ranges::find_if(options, [key](const option& o) { return has_name(o, key); });
    return found == std::end(options) ? nullptr : &*found;
}

std::string_view nearest_key(std::string_view key) {
    // Half of a key is not what was meant any more, nor is any text that is longer than all keys.
    if (key.size() > 64) return {};
    std::size_t least = std::max<std::size_t>(2, key.size() / 3) + 1;
    std::string_view nearest;
    const auto look_at = [&](std::string_view name) {
        const std::size_t d = distance(key, name);
        if (d >= least || d >= name.size()) return;
        least = d;
        nearest = name;
    };
    for (const option& o : options) {
        look_at(o.key);
        for (std::string_view rest = o.aliases; !rest.empty();) {
            look_at(coracle::detail::take_item(rest, ' '));
        }
    }
    return nearest;
}

}  // namespace coracle::http::detail
