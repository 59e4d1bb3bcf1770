#include "http_arguments.hpp"

#include "cli_options.hpp"
#include "program_arguments.hpp"

#include <coracle/http/client_settings.hpp>

#include <utility>

namespace coracle::tool {
namespace {

/// "user:password".
http::credentials credentials_of(const char* option, const std::string& text,
                                 http::auth_scheme scheme) {
    auto [user, password] = user_and_password(option, text);
    return {scheme, std::move(user), std::move(password)};
}

}  // namespace

void http_arguments::add_credentials(const char* group) {
    CLI::App& command = *command_;
    not_empty(add_text(command, group, "-u,--user", user_, "USER:PASSWORD",
                       "Log in with Basic, or Digest with --digest"));
    add_flag(command, group, "--digest", digest_,
             "Use Digest, which never sends the password (RFC 7616)");
    not_empty(add_text(command, group, "--bearer,--oauth2-bearer", bearer_, "TOKEN",
                       "Authenticate with a token (RFC 6750)"));
    of_client(add_flag(command, group, "-n,--netrc", values_.netrc,
                       "Take user and password from ~/.netrc"),
              [](auto& c) -> auto& { return c.netrc; });
}

void http_arguments::add_proxy() {
    CLI::App& command = *command_;
    constexpr const char* group = "Proxy";
    add_proxy_url(command, group, connection_);
    not_empty(add_text(command, group, "--proxy-user", proxy_user_, "USER:PASSWORD",
                       "Credentials for the proxy"));
    add_no_proxy(command, group, values_, given_);
}

void http_arguments::add_connection() {
    CLI::App& command = *command_;
    http::client_options& c = values_;
    constexpr const char* group = "Connection";
    add_trust(command, group, c, given_);
    const auto versions = [&](const char* name, http::version_choice v, const char* what) {
        const auto set = [&c, v](std::int64_t) { c.http_version = v; };
        // The last one counts, not that which was added last.
        of_client(command.add_flag_function(name, set, what)->trigger_on_parse()->group(group),
                  [](auto& o) -> auto& { return o.http_version; });
    };
    versions("--http1.1", http::version_choice::http_1_1, "HTTP/1.1 only");
    versions("--http2", http::version_choice::automatic,
             "HTTP/2 if TLS negotiates it (the default)");
    versions("--http2-prior-knowledge", http::version_choice::http_2,
             "HTTP/2 only, also without TLS");
    add_addresses();
}

void http_arguments::add_connection_of_one_version() {
    add_trust(*command_, "Connection", values_, given_);
    add_addresses();
}

/// Adds the families of addresses, and the sources of other options.
void http_arguments::add_addresses() {
    CLI::App& command = *command_;
    constexpr const char* group = "Connection";
    add_families(command, group, connection_);
    not_empty(add_text(command, group, "--config", connection_.config, "FILE",
                       "Read client options from a JSON file: {\"user_agent\": \"me\"};\n"
                       "docs/options.md lists them. '-' is standard input"));
    add_list(command, group, "--options", connection_.others, "KEY=VALUE,...",
             "Set client options; several add up");
}

void http_arguments::add_connect_timeout(const char* group) {
    add_number(*command_, group, "--connect-timeout", connect_, "SECONDS", 0.0, 1e7,
               "Timeout for DNS, TCP, proxy and TLS. Default: 30");
}

void http_arguments::add_user_agent(const char* group) {
    of_client(add_text(*command_, group, "-A,--user-agent", values_.user_agent, "NAME",
                       "The User-Agent header. Default: coracle"),
              [](auto& c) -> auto& { return c.user_agent; });
}

void http_arguments::add_verbose(const char* group) {
    of_client(add_flag(*command_, group, "-v,--verbose", values_.verbose,
                       "Print connections, and the headers sent ('>') and received\n"
                       "('<'), without secrets"),
              [](auto& c) -> auto& { return c.verbose; });
}

void http_arguments::apply_credentials(http::client_options& o) const {
    const auto scheme = digest_ ? http::auth_scheme::digest : http::auth_scheme::basic;
    // The scheme also applies to credentials in the URL and in the netrc file.
    if (digest_) o.authentication.scheme = scheme;
    if (!user_.empty()) o.authentication = credentials_of("--user", user_, scheme);
    if (!bearer_.empty()) {
        hide_argument(bearer_);
        o.authentication = {http::auth_scheme::bearer, {}, secret(std::string(bearer_))};
    }
    if (!proxy_user_.empty()) {
        o.proxy_authentication =
            credentials_of("--proxy-user", proxy_user_, http::auth_scheme::basic);
    }
}

void http_arguments::apply(http::client_options& o, http::pool_options& pool) const {
    read_client_options(o, pool, connection_);
    given_.apply(o, values_);
    apply_credentials(o);
    understand_connection(*command_, connection_, o);
    if (command_->count("--connect-timeout") != 0) o.connect_timeout = seconds_of(connect_);
}

}  // namespace coracle::tool
