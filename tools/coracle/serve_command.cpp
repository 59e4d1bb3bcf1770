#include "serve_command.hpp"

#include "settings.hpp"
#include "welcome.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/https_only.hpp>
#include <coracle/http/server.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_dump.hpp>
#include <coracle/tls/reload.hpp>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <optional>
#include <utility>

namespace coracle::tool {
namespace {

std::string count_of(std::uint64_t n, const char* what) {
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

std::string_view without_scheme(std::string_view text) {
    const std::size_t at = text.find("://");
    const bool has_one = text.starts_with("https://") || text.starts_with("http://");
    return has_one ? text.substr(at + 3) : text;
}

/// Where it listens without --listen.
std::vector<std::string> addresses_of(const serve_settings& settings, bool with_tls) {
    if (!settings.listen.empty()) return settings.listen;
    return {with_tls ? "127.0.0.1:8443" : "127.0.0.1:8080"};
}

std::string joined(const std::vector<std::string>& addresses) {
    std::string all;
    for (const std::string& text : addresses) {
        if (const auto a = net::address::parse(without_scheme(text)); !a) {
            throw failure("cannot listen on '" + text +
                          "': that is no address (127.0.0.1:8080, [::1]:8080, :8080 for every "
                          "IPv4 address, unix:/path)");
        }
        all += all.empty() ? text : ',' + text;
    }
    return all;
}

std::string hint_for(const std::error_code& code) {
    if (code == std::errc::address_in_use) {
        return " (another program, perhaps another coracle, is using it; choose another with "
               "--listen)";
    }
    if (code == std::errc::permission_denied) {
        return " (ports below 1024 need root or CAP_NET_BIND_SERVICE; choose another with "
               "--listen)";
    }
    if (code == std::errc::address_not_available) {
        return " (no interface of this machine has this address)";
    }
    return {};
}

[[noreturn]] void cannot_listen(const error& e) {
    throw failure("cannot listen on " + std::string(e.subject()) + ": " + e.code().message() +
                  hint_for(e.code()));
}

// Listeners of several loops share their port, and so would a second coracle: it would silently
// take half of the connections. So each port is first taken alone.
void check_ports_are_free(runtime& rt, const std::vector<std::string>& addresses) {
    if (rt.loops() == 1) return;
    for (const std::string& text : addresses) {
        const auto at = net::address::parse(without_scheme(text));
        if (!at || at->family() == net::family::unix_path || at->port() == 0) continue;
        const auto alone = net::listener::open(rt.at(0), *at, socket_options());
        if (!alone) cannot_listen(alone.error());
    }
}

void announce(const http::server& s) {
    for (const std::string& url : s.urls()) std::printf("listening on %s\n", url.c_str());
    std::fflush(stdout);
}

void report(const http::server_counters& c) {
    std::printf("served %s on %s; %s cut\n", count_of(c.requests, "request").c_str(),
                count_of(c.connections, "connection").c_str(),
                count_of(c.cut_by_drain, "connection").c_str());
    std::fflush(stdout);
}

task<> stop_on_signal(signal_set& signals, http::server& s, runtime& rt) {
    co_await signals.next();
    std::printf("draining: %s open; a second signal cuts\n",
                count_of(s.counters().open, "connection").c_str());
    std::fflush(stdout);
    s.stop();
    co_await signals.next();
    rt.stop();
}

task<> dump_on_signal(signal_set& signals, runtime& rt) {
    for (;;) {
        co_await signals.next();
        for (std::size_t i = 0; i != rt.loops(); ++i) {
            rt.at(i).post([&l = rt.at(i)] {
                const std::string text = dump_tasks(l);
                std::fwrite(text.data(), 1, text.size(), stderr);
            });
        }
    }
}

/// Null without certificates.
std::shared_ptr<tls::server_context> security_of(const serve_settings& settings) {
    tls::server_options o;
    o.certificates = settings.certificates;
    if (settings.self_signed) {
        o.certificates.push_back(tls::self_signed({"localhost", "127.0.0.1", "::1"}));
    }
    if (o.certificates.empty()) {
        if (settings.client_authorities.empty() && !settings.https_only) return nullptr;
        throw failure(
            "HTTPS needs a certificate: give one with --tls-cert, or try "
            "--tls-self-signed");
    }
    if (!settings.client_authorities.empty()) {
        o.clients = tls::client_certificates::required;
        o.client_authorities = settings.client_authorities;
    }
    try {
        return std::make_shared<tls::server_context>(o);
    } catch (const exception& e) {
        throw failure("cannot speak HTTPS: " + e.error().code().message() + ": " +
                      std::string(e.error().subject()) +
                      " (see --tls-cert, --tls-key and --tls-password-file)");
    }
}

http::server_options server_options_of(const serve_settings& settings) {
    http::server_options o;
    o.tls = security_of(settings);
    o.listen = joined(addresses_of(settings, o.tls != nullptr));
    o.loops = settings.threads;
    o.pin = settings.pin;
    o.timeouts.drain =
        std::chrono::duration_cast<duration>(std::chrono::duration<double>(settings.drain_seconds));
    return o;
}

http::handler files_of(const serve_settings& settings) {
    try {
        http::router routes;
        routes.get("/{*path}", http::serve_files(*settings.directory, settings.files));
        return routes;
    } catch (const exception& e) {
        throw failure("cannot serve '" + *settings.directory + "': " + e.error().code().message() +
                      " (give the path of a directory that can be read)");
    }
}

/// The port of the first address with TLS, which those who come without are sent to.
std::uint16_t https_port_of(const serve_settings& settings) {
    for (const std::string& text : addresses_of(settings, true)) {
        if (text.starts_with("http://")) continue;
        const auto at = net::address::parse(without_scheme(text));
        if (at && at->family() != net::family::unix_path && at->port() != 0) return at->port();
    }
    throw failure("--redirect-to-https needs a port to send to: --listen https://ADDRESS:PORT");
}

http::handler target_of(const serve_settings& settings, live_server& live) {
    http::handler target = settings.directory ? files_of(settings) : welcome(live);
    if (!settings.https_only) return target;
    http::https_only_options o;
    o.port = https_port_of(settings);
    return http::https_only(std::move(o))(std::move(target));
}

std::unique_ptr<http::access_log_file> access_log_of(const serve_settings& settings, logger& log) {
    if (!settings.access_log) return nullptr;
    http::access_log_options o;
    o.path = *settings.access_log;
    o.format = settings.log_format;
    o.lines.log = &log;
    try {
        return std::make_unique<http::access_log_file>(std::move(o));
    } catch (const exception& e) {
        throw failure("cannot write the access log '" + *settings.access_log +
                      "': " + e.error().code().message() + " (choose another with --log-file)");
    }
}

void report_drops(const http::access_log_file& log) {
    const std::uint64_t dropped = log.counters().dropped;
    if (dropped == 0) return;
    std::fprintf(stderr, "coracle: %s of the access log dropped: its disk was full or slow\n",
                 count_of(dropped, "line").c_str());
}

task<> renew_on_signal(signal_set& signals, http::access_log_file* accesses,
                       tls::server_context* security, const logger& log) {
    for (;;) {
        co_await signals.next();
        if (accesses != nullptr) accesses->reopen();
        if (security != nullptr) tls::reload(*security, log);
    }
}

/// "name=value" at the first "="; both are there, or the failure says what is wanted.
std::pair<std::string, std::string> split(const char* option, const std::string& text,
                                          const char* example) {
    const std::size_t at = text.find('=');
    if (at != std::string::npos && at != 0 && at + 1 != text.size()) {
        return {text.substr(0, at), text.substr(at + 1)};
    }
    throw failure(std::string("cannot read ") + option + " '" + text + "': write it as in " +
                  option + " '" + example + "'");
}

}  // namespace

http::cache_rule parse_cache_rule(const std::string& text) {
    auto [glob, value] = split("--cache", text, "/assets/*=max-age=31536000, immutable");
    return {std::move(glob), std::move(value)};
}

http::media_type_rule parse_media_type_rule(const std::string& text) {
    constexpr const char* example = "gpx=application/gpx+xml";
    auto [extension, type] = split("--mime", text, example);
    if (extension.starts_with('.')) extension.erase(0, 1);
    if (extension.empty() || type.find('/') == std::string::npos) {
        throw failure("cannot read --mime '" + text + "': write it as in --mime '" + example + "'");
    }
    return {std::move(extension), std::move(type)};
}

std::vector<tls::certificate_source> certificates_of(const std::vector<std::string>& certificates,
                                                     const std::vector<std::string>& keys,
                                                     const std::string& password_file) {
    if (!keys.empty() && keys.size() != certificates.size()) {
        throw failure("each --tls-cert needs its --tls-key, or none of them one");
    }
    secret password;
    if (!password_file.empty()) {
        std::ifstream file(password_file);
        std::string line;
        if (!std::getline(file, line)) {
            throw failure("cannot read a password from '" + password_file + "'");
        }
        password = secret(std::move(line));
    }
    std::vector<tls::certificate_source> all;
    for (std::size_t i = 0; i != certificates.size(); ++i) {
        tls::certificate_source one;
        one.certificate = certificates[i];
        if (!keys.empty()) one.key = keys[i];
        one.password = password;
        all.push_back(std::move(one));
    }
    return all;
}

void serve(const serve_settings& settings) {
    logger log;
    configure_log(log);
    http::server_options options = server_options_of(settings);
    options.log = &log;
    live_server live;
    http::handler target = target_of(settings, live);
    const auto accesses = access_log_of(settings, log);
    if (accesses) {
        options.log_access = &http::access_log_file::write;
        options.log_access_user = accesses.get();
    }

    // A reader of our standard output that goes away must not end us.
    std::signal(SIGPIPE, SIG_IGN);
    net::raise_descriptor_limit();
    // Before the threads of the loops are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    signal_set dump_signal{SIGUSR1};
    // Without a log and certificates SIGHUP ends the program as it does others.
    std::optional<signal_set> renewal;
    const auto security = options.tls;
    if (accesses || security) renewal.emplace({SIGHUP});
    runtime_options on;
    on.loops = options.loops;
    on.pin = options.pin;
    on.backend = options.backend;
    on.log = &log;
    on.stall_limit = std::chrono::milliseconds(100);
    runtime rt(on);
    check_ports_are_free(rt, addresses_of(settings, security != nullptr));
    http::server s(std::move(target), std::move(options));
    try {
        s.open(rt);
    } catch (const exception& e) {
        cannot_listen(e.error());
    }
    live.attach(s, rt);
    announce(s);
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            live.begin(l);
            spawn([&] { return stop_on_signal(signals, s, rt); }, "signals");
            spawn([&] { return dump_on_signal(dump_signal, rt); }, "dump signal");
            if (renewal) {
                spawn(
                    [&] { return renew_on_signal(*renewal, accesses.get(), security.get(), log); },
                    "renewal");
            }
            if (security) {
                spawn([&] { return tls::reload_on_change(*security); }, "certificates");
            }
        }
        co_await s.run(l);
    });
    if (accesses) {
        accesses->flush();
        report_drops(*accesses);
    }
    report(s.counters());
}

}  // namespace coracle::tool
