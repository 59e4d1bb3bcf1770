#pragma once

#include "cli_options.hpp"
#include "input_file.hpp"
#include "program_arguments.hpp"

#include <coracle/base/error.hpp>
#include <coracle/base/secret.hpp>
#include <coracle/connect/proxy_environment.hpp>
#include <coracle/net/address.hpp>
#include <coracle/runtime/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// The arguments of all client commands. `Options` is http::client_options or smtp::client_options.
namespace coracle::tool {

/// Arguments that set one option of a client each, and override the environment and files.
template <class Options>
class given_options {
public:
    /// Records that `option` sets the member of the client's options that `part` returns.
    template <class Part>
    void add(const CLI::Option* option, Part part) {
        all_.push_back([option, part](Options& to, const Options& from) {
            if (option->count() != 0) part(to) = part(from);
        });
    }
    /// Copies the options that were given.
    void apply(Options& to, const Options& from) const {
        for (const auto& set : all_) set(to, from);
    }

private:
    std::vector<std::function<void(Options& to, const Options& from)>> all_;
};

/// Entries of --resolve as the client takes them: the first that fits, where curl takes the last. A
/// "+", which lets an entry of curl's cache grow old, has no meaning here.
inline std::vector<std::string> last_first(const std::vector<std::string>& entries) {
    std::vector<std::string> all(entries.rbegin(), entries.rend());
    for (std::string& one : all) {
        if (one.starts_with('+')) one.erase(0, 1);
    }
    return all;
}

/// Throws `CLI::ValidationError` for an entry that cannot be read.
void check_resolve(const std::vector<std::string>& entries);

/// Adds the trusted authorities, our certificate, and addresses that replace DNS.
template <class Options>
void add_trust(CLI::App& command, const char* group, Options& o, given_options<Options>& given) {
    given.add(
        add_flag(command, group, "-k,--insecure", o.insecure, "Trust any certificate of a server"),
        [](auto& c) -> auto& { return c.insecure; });
    given.add(not_empty(add_text(command, group, "--cacert", o.certificates.authorities, "FILE",
                                 "Trust these authorities (PEM), and not those of the system")),
              [](auto& c) -> auto& { return c.certificates.authorities; });
    given.add(not_empty(add_text(command, group, "-E,--cert", o.certificates.certificate, "FILE",
                                 "Our certificate, for servers that want one")),
              [](auto& c) -> auto& { return c.certificates.certificate; });
    given.add(
        not_empty(add_text(command, group, "--key", o.certificates.key, "FILE", "Its private key")),
        [](auto& c) -> auto& { return c.certificates.key; });
    const auto set_resolve = [&o](const std::vector<std::string>& all) {
        o.resolve = last_first(all);
        check_resolve(o.resolve);
    };
    given.add(as_often_as_wanted(
                  command.add_option_function<std::vector<std::string>>(
                      "--resolve", set_resolve, "Use this address in place of what DNS says"))
                  ->type_name("HOST:PORT:ADDRESS")
                  ->group(group),
              [](auto& c) -> auto& { return c.resolve; });
    given.add(not_empty(add_text(command, group, "--unix-socket", o.unix_socket, "PATH",
                                 "Connect to this socket")),
              [](auto& c) -> auto& { return c.unix_socket; });
}

/// The texts of arguments that set several options.
struct connection_texts {
    std::string proxy;
    std::string config;
    std::vector<std::string> others;  ///< of --options
    std::optional<net::family> family;
};

/// Adds the families of addresses, of which the one that is given last counts.
inline void add_families(CLI::App& command, const char* group, connection_texts& t) {
    const auto add = [&](const char* names, net::family f, const char* what) {
        const auto set = [&t, f](std::int64_t) { t.family = f; };
        command.add_flag_function(names, set, what)->trigger_on_parse()->group(group);
    };
    add("-4,--ipv4", net::family::v4, "Use IPv4 addresses only");
    add("-6,--ipv6", net::family::v6, "Use IPv6 addresses only");
}

/// Adds the proxy, and the hosts that are reached without it.
inline void add_proxy_url(CLI::App& command, const char* group, connection_texts& t) {
    add_text(command, group, "-x,--proxy", t.proxy, "URL",
             "http://, https://, socks4://, socks4a://, socks5:// or\n"
             "socks5h://. Default: that of the environment; '' is none");
}
template <class Options>
void add_no_proxy(CLI::App& command, const char* group, Options& o, given_options<Options>& given) {
    given.add(add_text(command, group, "--noproxy", o.no_proxy, "HOSTS",
                       "Hosts that are reached without it: localhost,.example.com,\n"
                       "10.0.0.0/8, or '*'. Default: those of no_proxy"),
              [](auto& c) -> auto& { return c.no_proxy; });
}

/// Sets the options of `connection_texts`.
template <class Options>
void understand_connection(const CLI::App& command, const connection_texts& t, Options& o) {
    // Not every command has all of them.
    const auto is_given = [&](const char* name) {
        const CLI::Option* const option = command.get_option_no_throw(name);
        return option != nullptr && option->count() != 0;
    };
    if (is_given("--proxy")) {
        if (t.proxy.contains('@')) hide_argument(t.proxy);
        o.proxy = secret(t.proxy);
        if (o.proxy.empty()) o.proxy_from_environment = false;
        // As with curl, the hosts of the environment hold for this proxy too.
        if (!is_given("--noproxy") && o.no_proxy.empty()) {
            o.no_proxy = connect::proxy_environment::read().no_proxy();
        }
    }
    if (is_given("--noproxy")) {
        // It replaces the list of the environment, even if it is empty.
        ::unsetenv("no_proxy");
        ::unsetenv("NO_PROXY");
    }
    if (t.family) o.family = *t.family;
}

/// Throws `failure` when options could not be read from `from`.
void check_read(const std::string& from, const std::expected<void, error>& read);

/// Reads the environment, then the file of --config, then --options: later ones override earlier
/// ones.
template <class Options, class Pool>
void read_client_options(Options& o, Pool& pool, const connection_texts& t) {
    constexpr std::size_t most_config_bytes = 1024 * 1024;
    check_read("the environment", read_environment_options(o, pool));
    if (!t.config.empty()) {
        std::string text = content_of(t.config, most_config_bytes);
        const auto read = read_json_options(o, pool, text);
        wipe(text.data(), text.size());
        check_read("--config '" + t.config + "'", read);
    }
    for (const std::string& some : t.others) {
        check_read("--options", read_options(o, pool, some));
    }
}

duration seconds_of(double n);

/// Splits "user:password". Throws `failure`.
std::pair<std::string, secret> user_and_password(const char* option, const std::string& text);

/// Splits "Name: value", or "Name;" for an empty value. "Name:" has an empty one, too. Throws
/// `failure`.
std::pair<std::string, std::string> header_field(const std::string& text);
/// As `header_field`, for HTTP, whose names are tokens.
std::pair<std::string, std::string> http_header_field(const std::string& text);

}  // namespace coracle::tool
