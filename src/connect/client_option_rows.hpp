#pragma once

#include "connect/option_reader.hpp"

#include <coracle/connect/client_options.hpp>
#include <coracle/net/resolver.hpp>

#include <algorithm>
#include <array>
#include <type_traits>

// Rows of a table of options: how one is made, and those that every client has. `Target` is the
// type that options are set on; it has a `client` and a `pool`.
namespace coracle::connect::detail {

inline constexpr choice_name family_names[] = {{"any", ""}, {"v4", "4"}, {"v6", "6"}};
inline constexpr std::string_view family_wanted = "any, v4 or v6";
inline constexpr choice_name version_names[] = {{"1.2", "tls_1_2"}, {"1.3", "tls_1_3"}};
inline constexpr std::string_view version_wanted = "1.2 or 1.3";
inline constexpr choice_name certificate_names[] = {{"PEM", ""}, {"DER", ""}, {"P12", ""}};
inline constexpr std::string_view certificate_wanted =
    "PEM, DER, P12, or nothing to find out from the file";
inline constexpr choice_name key_names[] = {{"PEM", ""}, {"DER", ""}, {"ENG", ""}, {"PROV", ""}};
inline constexpr std::string_view key_wanted =
    "PEM, DER, ENG, PROV, or nothing to find out from the file";

using family_value = choice_value<family_names, family_wanted>;
using version_value = choice_value<version_names, version_wanted>;
using certificate_type_value = name_value<certificate_names, certificate_wanted>;
using key_type_value = name_value<key_names, key_wanted>;

// Returns a member by a chain of pointers to members, such as target.client.retry.delay.
template <auto... Members>
auto& member(auto& target) noexcept {
    return (target.*....*Members);
}

template <class Target, class Value, auto... Members>
constexpr option make_option(std::string_view key, std::string_view aliases,
                             std::string_view meaning) {
    using pool = decltype(Target::pool);
    return {
        .key = key,
        .aliases = aliases,
        .meaning = meaning,
        .unit = Value::unit,
        .wanted = Value::wanted,
        .type = Value::type,
        .is_of_pool = (std::is_same_v<decltype(Members), pool Target::*> || ...),
        .is_sensitive = std::is_same_v<Value, secret_value> || std::is_same_v<Value, proxy_value>,
        .set =
            [](void* target, std::string_view text) {
                return Value::read(text, member<Members...>(*static_cast<Target*>(target)));
            },
        .get =
            [](const void* target) {
                return Value::write(member<Members...>(*static_cast<const Target*>(target)));
            },
    };
}

template <class Target, class Value, auto... Members>
constexpr option of_client(std::string_view key, std::string_view meaning,
                           std::string_view aliases = "") {
    return make_option<Target, Value, &Target::client, Members...>(key, aliases, meaning);
}

template <class Target, class Value, auto... Members>
constexpr option of_pool(std::string_view key, std::string_view meaning) {
    return make_option<Target, Value, &Target::pool, Members...>(key, "", meaning);
}

/// A key whose values are checked, and have no effect.
template <class Value, class T>
constexpr option ignored(std::string_view key) {
    return {
        .key = key,
        .aliases = "",
        .meaning = "has no effect",
        .unit = Value::unit,
        .wanted = Value::wanted,
        .type = Value::type,
        .is_of_pool = false,
        .is_sensitive = false,
        .set =
            [](void*, std::string_view text) {
                T unused{};
                return Value::read(text, unused);
            },
        .get = [](const void*) { return std::string(); },
    };
}

/// One table of several groups of rows.
template <std::size_t... Sizes>
consteval auto joined(const std::array<option, Sizes>&... groups) {
    std::array<option, (Sizes + ...)> all{};
    auto to = all.begin();
    ((to = std::ranges::copy(groups, to).out), ...);
    return all;
}

/// Times to reach the server.
template <class Target>
consteval auto reaching_rows() {
    using c = decltype(Target::client);
    return std::array{
        of_client<Target, time_value, &c::resolve_timeout>("resolve_timeout",
                                                           "name resolution; 0: no limit"),
        of_client<Target, time_value, &c::connect_timeout>(
            "connect_timeout", "name resolution, TCP, proxy and TLS together; 0: no limit"),
        of_client<Target, time_value, &c::tls_timeout>("tls_timeout",
                                                       "the TLS handshake; 0: no limit"),
    };
}

/// The proxy, and the hosts reached without it.
template <class Target>
consteval auto proxy_rows() {
    using c = decltype(Target::client);
    return std::array{
        of_client<Target, proxy_value, &c::proxy>(
            "proxy", "URL of an HTTP, HTTPS or SOCKS proxy, with user and password"),
        of_client<Target, text_value, &c::no_proxy>(
            "no_proxy", "hosts and networks reached without it; *: all"),
    };
}

/// TLS and certificates.
template <class Target>
consteval auto security_rows() {
    using c = decltype(Target::client);
    using s = certificate_options;
    using t = client_tls_options;
    return std::array{
        of_client<Target, boolean_value, &c::insecure>("insecure",
                                                       "accept any certificate for any name"),
        of_client<Target, version_value, &c::tls, &t::minimum>("tls_minimum",
                                                               "the oldest version of TLS"),
        of_client<Target, version_value, &c::tls, &t::maximum>("tls_maximum",
                                                               "the newest version of TLS"),
        of_client<Target, text_value, &c::tls, &t::ciphers>("tls_ciphers", "ciphers of TLS 1.2"),
        of_client<Target, text_value, &c::tls, &t::cipher_suites>("tls_cipher_suites",
                                                                  "cipher suites of TLS 1.3"),
        of_client<Target, text_value, &c::tls, &t::groups>("tls_groups",
                                                           "groups of the key exchange"),
        of_client<Target, text_value, &c::tls, &t::key_log>(
            "tls_key_log", "file to which the secrets of connections are appended"),
        of_client<Target, text_value, &c::engine>("engine", "OpenSSL provider that holds the keys"),
        of_client<Target, text_value, &c::certificates, &s::certificate>("sslcert",
                                                                         "file of our certificate"),
        of_client<Target, certificate_type_value, &c::certificates, &s::certificate_type>(
            "sslcerttype", "PEM, DER or P12; empty: from the file"),
        of_client<Target, text_value, &c::certificates, &s::key>("sslkey", "file of our key"),
        of_client<Target, key_type_value, &c::certificates, &s::key_type>(
            "sslkeytype", "PEM, DER, ENG or PROV; empty: from the file"),
        of_client<Target, secret_value, &c::certificates, &s::key_password>("keypasswd",
                                                                            "password of our key"),
        of_client<Target, text_value, &c::certificates, &s::authorities>(
            "cainfo", "PEM file of trusted CA certificates, in place of the system's"),
        of_client<Target, text_value, &c::certificates, &s::authority_folder>(
            "capath", "directory of trusted CA certificates, with hashed names"),
        of_client<Target, text_value, &c::proxy_certificates, &s::certificate>(
            "proxy_sslcert", "file of our certificate for the proxy"),
        of_client<Target, certificate_type_value, &c::proxy_certificates, &s::certificate_type>(
            "proxy_sslcerttype", "as sslcerttype, for the proxy"),
        of_client<Target, text_value, &c::proxy_certificates, &s::key>(
            "proxy_sslkey", "file of our key for the proxy"),
        of_client<Target, key_type_value, &c::proxy_certificates, &s::key_type>(
            "proxy_sslkeytype", "as sslkeytype, for the proxy"),
        of_client<Target, secret_value, &c::proxy_certificates, &s::key_password>(
            "proxy_keypasswd", "password of our key for the proxy"),
        of_client<Target, text_value, &c::proxy_certificates, &s::authorities>(
            "proxy_cainfo", "as cainfo, for the proxy"),
        of_client<Target, text_value, &c::proxy_certificates, &s::authority_folder>(
            "proxy_capath", "as capath, for the proxy"),
    };
}

/// How sockets are opened.
template <class Target>
consteval auto sockets_rows() {
    using c = decltype(Target::client);
    using k = client_socket_options;
    return std::array{
        of_client<Target, text_value, &c::unix_socket>(
            "unix_socket", "path of the Unix socket to connect to; @name: abstract"),
        of_client<Target, overrides_value, &c::resolve>(
            "resolve", "host:port:address[,address...], with \";\" between: instead of resolving"),
        of_client<Target, boolean_value, &c::sockets, &k::no_delay>("socket_no_delay",
                                                                    "TCP_NODELAY"),
        of_client<Target, time_value, &c::sockets, &k::user_timeout>(
            "socket_user_timeout",
            "time of unacknowledged bytes that ends a connection; 0: the system's"),
        of_client<Target, boolean_value, &c::sockets, &k::keep_alive>(
            "socket_keep_alive", "probe silent connections (SO_KEEPALIVE)"),
        of_client<Target, time_value, &c::sockets, &k::keep_alive_idle>(
            "socket_keep_alive_idle",
            "silence before the first probe, whole seconds; 0: the system's"),
        of_client<Target, time_value, &c::sockets, &k::keep_alive_interval>(
            "socket_keep_alive_interval", "between two probes, whole seconds; 0: the system's"),
        of_client<Target, count_value, &c::sockets, &k::keep_alive_count>(
            "socket_keep_alive_count",
            "probes without a reply that end a connection; 0: the system's"),
        of_client<Target, size_value, &c::sockets, &k::send_buffer>("socket_send_buffer",
                                                                    "SO_SNDBUF; 0: the system's"),
        of_client<Target, size_value, &c::sockets, &k::receive_buffer>(
            "socket_receive_buffer", "SO_RCVBUF; 0: the system's"),
        of_client<Target, count_value, &c::sockets, &k::type_of_service>("socket_type_of_service",
                                                                         "IP_TOS; 0: the system's"),
        of_client<Target, count_value, &c::sockets, &k::mark>("socket_mark", "SO_MARK; 0: none"),
        of_client<Target, count_value, &c::sockets, &k::first_local_port>(
            "socket_first_local_port", "first port of the range of local ports; 0: any"),
        of_client<Target, count_value, &c::sockets, &k::last_local_port>(
            "socket_last_local_port", "last port of the range of local ports; 0: any"),
        of_client<Target, text_value, &c::interface_name>(
            "interface_name", "local address of our sockets, or an interface", "interface"),
        of_client<Target, family_value, &c::family>("family",
                                                    "addresses of one family only: any, v4 or v6"),
    };
}

/// How names are resolved.
template <class Target>
consteval auto resolver_rows() {
    using p = decltype(Target::pool);
    using n = net::resolver_options;
    return std::array{
        of_pool<Target, servers_value, &p::resolver, &n::servers>(
            "pool_resolver_servers", "name servers, with \";\" between; empty: the system's"),
        of_pool<Target, domains_value, &p::resolver, &n::search>(
            "pool_resolver_search", "search domains, with \";\" between; empty: the system's"),
        of_pool<Target, text_value, &p::resolver, &n::configuration>(
            "pool_resolver_configuration", "in place of /etc/resolv.conf"),
        of_pool<Target, text_value, &p::resolver, &n::hosts>("pool_resolver_hosts",
                                                             "in place of /etc/hosts"),
        of_pool<Target, count_value, &p::resolver, &n::dots>(
            "pool_resolver_dots",
            "names with at least so many dots are first tried as they are; 0: the system's"),
        of_pool<Target, time_value, &p::resolver, &n::timeout>(
            "pool_resolver_timeout", "limit for one response of one server"),
        of_pool<Target, count_value, &p::resolver, &n::attempts>("pool_resolver_attempts",
                                                                 "rounds through all servers"),
        of_pool<Target, time_value, &p::resolver, &n::recheck>(
            "pool_resolver_recheck", "interval of checks for changes of the two files"),
        of_pool<Target, count_value, &p::resolver, &n::cache>("pool_resolver_cache",
                                                              "most responses kept"),
        of_pool<Target, time_value, &p::resolver, &n::longest_ttl>(
            "pool_resolver_longest_ttl", "longest time that a response is kept"),
        of_pool<Target, time_value, &p::resolver, &n::longest_negative_ttl>(
            "pool_resolver_longest_negative_ttl", "longest time that a missing name is kept"),
        of_pool<Target, count_value, &p::resolver, &n::questions>("pool_resolver_questions",
                                                                  "most queries at a time"),
        of_pool<Target, count_value, &p::resolver, &n::addresses>(
            "pool_resolver_addresses", "most addresses taken from one response"),
        of_pool<Target, count_value, &p::resolver, &n::domains>(
            "pool_resolver_domains", "most search domains that are tried"),
    };
}

}  // namespace coracle::connect::detail
