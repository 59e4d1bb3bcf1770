#include "serve_command.hpp"

#include "settings.hpp"
#include "welcome.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/server.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_dump.hpp>

#include <csignal>
#include <cstdio>
#include <optional>
#include <utility>

namespace coracle::tool {
namespace {

std::string count_of(std::uint64_t n, const char* what) {
    return std::to_string(n) + ' ' + what + (n == 1 ? "" : "s");
}

std::string joined(const std::vector<std::string>& addresses) {
    std::string all;
    for (const std::string& text : addresses) {
        if (const auto a = net::address::parse(text); !a) {
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
        const auto at = net::address::parse(text);
        if (!at || at->family() == net::family::unix_path || at->port() == 0) continue;
        const auto alone = net::listener::open(rt.at(0), *at, socket_options());
        if (!alone) cannot_listen(alone.error());
    }
}

void announce(const http::server& s) {
    for (const net::address& a : s.addresses()) {
        const bool is_path = a.family() == net::family::unix_path;
        std::printf("listening on %s%s\n", is_path ? "" : "http://", a.to_string().c_str());
    }
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

http::server_options server_options_of(const serve_settings& settings) {
    http::server_options o;
    o.listen = joined(settings.listen);
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

task<> reopen_on_signal(signal_set& signals, http::access_log_file& log) {
    for (;;) {
        co_await signals.next();
        log.reopen();
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

void serve(const serve_settings& settings) {
    logger log;
    configure_log(log);
    http::server_options options = server_options_of(settings);
    options.log = &log;
    live_server live;
    http::handler target = settings.directory ? files_of(settings) : welcome(live);
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
    // Without a log there is nothing to reopen, and SIGHUP ends the program as it does others.
    std::optional<signal_set> reopen_signal;
    if (accesses) reopen_signal.emplace({SIGHUP});
    runtime_options on;
    on.loops = options.loops;
    on.pin = options.pin;
    on.backend = options.backend;
    on.log = &log;
    on.stall_limit = std::chrono::milliseconds(100);
    runtime rt(on);
    check_ports_are_free(rt, settings.listen);
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
            if (accesses) {
                spawn([&] { return reopen_on_signal(*reopen_signal, *accesses); }, "reopen signal");
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
