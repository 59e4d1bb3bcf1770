#include "serve_command.hpp"

#include "late_signals.hpp"
#include "listening.hpp"
#include "settings.hpp"
#include "settings_check.hpp"
#include "status_lines.hpp"
#include "welcome.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/dashboard.hpp>
#include <coracle/http/files.hpp>
#include <coracle/http/https_only.hpp>
#include <coracle/http/server.hpp>
#include <coracle/http/service.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/runtime/task_dump.hpp>
#include <coracle/tls/reload.hpp>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <mutex>
#include <optional>
#include <utility>

namespace coracle::tool {
namespace {

/// Returns the addresses to listen on; the defaults without --listen.
std::vector<std::string> addresses_of(const serve_settings& settings, bool with_tls) {
    if (!settings.listen.empty()) return settings.listen;
    return {with_tls ? "127.0.0.1:8443" : "127.0.0.1:8080"};
}

/// A handler that can be replaced while it serves. Requests keep the one that they began with.
class replaceable final : public http::handler::implementation {
public:
    explicit replaceable(http::handler first) : now_(std::move(first)) {}

    bool call(http::request& req, http::response& out,
              task<http::response>& pending) const override {
        auto mine = std::make_unique<kept>(get());
        req.hold(*mine);
        return mine.release()->target.call(req, out, pending);
    }
    void replace(http::handler next) {
        const std::lock_guard guard(lock_);
        std::swap(now_, next);
    }

private:
    /// The handler of one request. It is let go of behind all that the routers in it hold, on the
    /// loop of the request: its last reference may be given up on another one.
    struct kept final : http::detail::pin {
        explicit kept(http::handler h) : target(std::move(h)) {
            retired = true;
            dispose = [](pin* p) noexcept { delete static_cast<kept*>(p); };
        }
        http::handler target;
    };
    http::handler get() const {
        const std::lock_guard guard(lock_);
        return now_;
    }

    mutable std::mutex lock_;
    http::handler now_;
};

task<> stop_on_signal(signal_set& signals, http::server& s, runtime& rt, const http::service& place,
                      status_lines status) {
    co_await signals.next();
    place.stopping();
    status.draining(s);
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

[[noreturn]] void lacks_certificate() {
    throw wrong_usage(
        "HTTPS needs a certificate: give one with --tls-cert, or try --tls-self-signed");
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
        lacks_certificate();
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

/// Throws where clients that have to have a certificate could do without TLS, at one of these
/// addresses.
void check_clear_addresses(const serve_settings& settings, const std::vector<std::string>& at) {
    const auto is_clear = [](const std::string& one) { return one.starts_with("http://"); };
    if (settings.client_authorities.empty() || settings.https_only ||
        std::ranges::none_of(at, is_clear)) {
        return;
    }
    throw wrong_usage(
        "http:// would serve clients without the certificate that --tls-client-ca requires "
        "(--redirect-to-https sends them to HTTPS)");
}

http::server_options server_options_of(const serve_settings& settings) {
    check_clear_addresses(settings, settings.listen);
    http::server_options o;
    o.tls = security_of(settings);
    const std::vector<std::string> addresses = addresses_of(settings, o.tls != nullptr);
    const auto is_secure = [](const std::string& at) { return at.starts_with("https://"); };
    if (o.tls == nullptr && std::ranges::any_of(addresses, is_secure)) lacks_certificate();
    o.listen = joined_addresses(addresses);
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

/// A path that no directory of a site is likely to have.
constexpr const char* dashboard_path = "/-/dashboard";

/// `target`, with the dashboard beside it.
http::handler with_dashboard(const http::dashboard& seen, http::handler target) {
    http::router routes;
    seen.add_to(routes, dashboard_path);
    routes.fallback(std::move(target));
    return routes;
}

/// The port with TLS, which those who come without are sent to; nothing: it is not known.
using secure_port = std::optional<std::uint16_t>;

http::handler target_of(const serve_settings& settings, live_server& live,
                        const http::dashboard* seen, secure_port to) {
    http::handler target = settings.directory ? files_of(settings) : welcome(live);
    if (seen != nullptr) target = with_dashboard(*seen, std::move(target));
    if (!settings.https_only) return target;
    http::https_only_options o;
    if (!to) {
        throw wrong_usage(
            "--redirect-to-https needs a port to send to: --listen https://ADDRESS:PORT");
    }
    o.port = *to;
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
        cannot_write_log(*settings.access_log, e.error().code());
    }
}

void report_drops(const http::access_log_file& log) {
    const std::uint64_t dropped = log.counters().dropped;
    if (dropped == 0) return;
    std::fprintf(
        stderr,
        "coracle: %s of the access log dropped: they could not be written, or not in time\n",
        count_of(dropped, "line").c_str());
}

/// It may be there when it is asked for.
void warn_of_page(const serve_settings& settings, const logger& log) {
    if (const auto fault = fault_of_page(settings)) {
        log.write(log_layer::http, log_level::warning, *fault);
    }
}

/// Says which settings a reload has left as they were.
void note_unchanged(const serve_settings& before, const serve_settings& now, const logger& log) {
    std::string names;
    const auto note = [&names](bool differs, const char* name) {
        if (differs) names += (names.empty() ? "" : ", ") + std::string(name);
    };
    note(before.listen != now.listen, "listen");
    note(before.threads != now.threads, "threads");
    note(before.pin != now.pin, "pin");
    note(before.drain_seconds != now.drain_seconds, "drain");
    note(before.dashboard != now.dashboard, "dashboard");
    note(before.handover != now.handover, "handover");
    note(before.access_log != now.access_log, "log-file");
    note(before.log_format != now.log_format, "log-format");
    note(before.self_signed != now.self_signed, "tls-self-signed");
    note(before.client_authorities != now.client_authorities, "tls-client-ca");
    const auto differ = [&](auto member) {
        return !std::ranges::equal(before.certificates, now.certificates, {}, member, member);
    };
    note(differ(&tls::certificate_source::certificate), "tls-cert");
    const bool as_many = before.certificates.size() == now.certificates.size();
    note(as_many && differ(&tls::certificate_source::key), "tls-key");
    note(as_many && differ(&tls::certificate_source::password), "tls-password-file");
    const bool has_tls = !before.certificates.empty() || before.self_signed;
    note(!has_tls && before.https_only != now.https_only, "redirect-to-https");
    if (names.empty()) return;
    log.write(log_layer::http, log_level::warning, "reloaded, but these need a restart: " + names);
}

/// The parts of a running server that SIGHUP renews.
struct renewal {
    const serve_settings& settings;
    live_server& live;
    http::access_log_file* accesses;
    tls::server_context* security;
    replaceable* target;
    const http::dashboard* seen;
    secure_port with_tls;
    const http::service& place;
    const logger& log;
    const std::vector<std::string>& served_at;

    bool is_needed() const noexcept {
        const bool has_log_file = accesses != nullptr && !settings.logs_to_output();
        const bool has_certificates = !settings.certificates.empty();
        return has_log_file || has_certificates || target != nullptr;
    }
    task<> run(signal_set& signals) {
        for (;;) {
            co_await signals.next();
            static_cast<void>(place.manager().reloading(loop::current()->now()));
            if (accesses != nullptr) accesses->reopen();
            if (security != nullptr) tls::reload(*security, log);
            if (target != nullptr) replace();
            static_cast<void>(place.manager().ready());
        }
    }
    /// On failure what was there goes on.
    void replace() {
        try {
            const serve_settings now = settings.again();
            const bool will_have_tls = !now.certificates.empty() || now.self_signed;
            if (now.https_only && !will_have_tls && security == nullptr) lacks_certificate();
            // The addresses, and whether there is TLS, stay until a restart.
            serve_settings served = now;
            served.listen = settings.listen;
            if (security == nullptr) served.https_only = settings.https_only;
            served.client_authorities = settings.client_authorities;
            check_clear_addresses(served, served_at);
            target->replace(target_of(served, live, seen, with_tls));
            warn_of_page(now, log);
            note_unchanged(settings, now, log);
            log.write(log_layer::http, log_level::info, "reloaded");
        } catch (const std::exception& e) {
            log.write(log_layer::http, log_level::error,
                      std::string("not reloaded, the old settings go on: ") + e.what());
        }
    }
};

[[noreturn]] void refuse_value(const char* option, const std::string& text, const char* example) {
    throw wrong_usage(std::string("cannot read ") + option + " '" + text + "': write it as in " +
                      option + " '" + example + "'");
}

/// "name=value" at the first "="; both are there, or the failure says what is wanted.
std::pair<std::string, std::string> split(const char* option, const std::string& text,
                                          const char* example) {
    const std::size_t at = text.find('=');
    if (at != std::string::npos && at != 0 && at + 1 != text.size()) {
        return {text.substr(0, at), text.substr(at + 1)};
    }
    refuse_value(option, text, example);
}

}  // namespace

void cannot_write_log(const std::string& path, const std::error_code& why) {
    throw failure("cannot write the access log '" + path + "': " + why.message() +
                  " (choose another with --log-file)");
}

http::cache_rule parse_cache_rule(const std::string& text) {
    constexpr const char* example = "/assets/*=max-age=31536000, immutable";
    auto [glob, value] = split("--cache", text, example);
    const auto is_control = [](char c) { return (c >= 0 && c < ' ' && c != '\t') || c == 0x7f; };
    if (std::ranges::any_of(value, is_control)) refuse_value("--cache", text, example);
    return {std::move(glob), std::move(value)};
}

http::media_type_rule parse_media_type_rule(const std::string& text) {
    constexpr const char* example = "gpx=application/gpx+xml";
    auto [extension, type] = split("--mime", text, example);
    if (extension.starts_with('.')) extension.erase(0, 1);
    if (extension.empty() || type.find('/') == std::string::npos) {
        refuse_value("--mime", text, example);
    }
    return {std::move(extension), std::move(type)};
}

std::vector<tls::certificate_source> certificates_of(const std::vector<std::string>& certificates,
                                                     const std::vector<std::string>& keys,
                                                     const std::string& password_file) {
    if (!keys.empty() && keys.size() != certificates.size()) {
        throw wrong_usage("each --tls-cert needs its --tls-key, or none of them one");
    }
    secret password;
    if (!password_file.empty() && certificates.empty()) {
        throw wrong_usage("--tls-password-file needs --tls-cert");
    }
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

/// The URL with this machine's name for itself where the server listens on every address.
std::string from_here(std::string url) {
    for (const auto& [every, here] :
         {std::pair("//0.0.0.0:", "//127.0.0.1:"), {"//[::]:", "//[::1]:"}}) {
        const std::size_t at = url.find(every);
        if (at != std::string::npos) url.replace(at, std::strlen(every), here);
    }
    return url;
}

void check(const serve_settings& settings) {
    const http::server_options options = server_options_of(settings);
    secure_port with_tls = http::service().secure_port(options);
    // The sockets that it will be passed are not known here.
    if (!with_tls && options.listen.contains("inherited")) with_tls = 443;
    live_server live;
    static_cast<void>(target_of(settings, live, nullptr, with_tls));
    check_files(settings);
    std::puts("coracle: the settings are good");
    if (std::fflush(stdout) != 0) throw failure("standard output cannot be written");
}

void serve(const serve_settings& settings) {
    if (settings.checks_only) {
        check(settings);
        return;
    }
    std::optional<http::dashboard> seen;
    if (settings.dashboard) seen.emplace();
    logger own_log(log_level::warning);
    logger& log = seen ? seen->log() : own_log;
    log.set_level(log_level::warning);
    obey_environment(log);
    check_handover(settings);
    warn_of_page(settings, log);
    http::server_options options = server_options_of(settings);
    options.log = &log;
    // Before there are threads.
    http::service place({.handover = settings.handover});
    options = place.listening(std::move(options));
    const secure_port with_tls = place.secure_port(options);
    live_server live;
    http::handler target = target_of(settings, live, seen ? &*seen : nullptr, with_tls);
    if (seen) options.observe(*seen);
    std::shared_ptr<replaceable> changes;
    if (settings.again) {
        changes = std::make_shared<replaceable>(std::move(target));
        target = http::handler(changes);
    }
    const auto accesses = access_log_of(settings, log);
    if (accesses) options.observe(*accesses);

    // A reader of our standard output that goes away must not end us.
    std::signal(SIGPIPE, SIG_IGN);
    net::raise_descriptor_limit();
    // Before the threads of the loops are made, which inherit the mask.
    signal_set signals{SIGINT, SIGTERM};
    signal_set dump_signal{SIGUSR1};
    const auto security = options.tls;
    const http::dashboard* const shown = seen ? &*seen : nullptr;
    std::vector<std::string> served_at;
    renewal renews{settings, live, accesses.get(), security.get(), changes.get(), shown, with_tls,
                   place,    log,  served_at};
    // Without anything to renew SIGHUP ends the program as it does others.
    std::optional<signal_set> renewal_signal;
    std::vector<int> waited_for{SIGINT, SIGTERM, SIGUSR1};
    if (renews.is_needed()) {
        renewal_signal.emplace({SIGHUP});
        waited_for.push_back(SIGHUP);
    }
    const late_signals late(std::move(waited_for));
    runtime_options on;
    on.loops = options.loops;
    on.pin = options.pin;
    on.backend = options.backend;
    on.log = &log;
    // Otherwise it says the limit.
    const bool has_limit = std::getenv("CORACLE_STALL_LIMIT") != nullptr;
    if (!has_limit) on.stall_limit = std::chrono::milliseconds(100);
    runtime rt(on);
    http::server s(std::move(target), std::move(options));
    place.equip(s);
    try {
        s.open(rt);
    } catch (const exception& e) {
        cannot_listen(e.error());
    }
    served_at = s.urls();
    check_clear_addresses(settings, served_at);
    live.attach(s, rt);
    const status_lines status(settings.logs_to_output() ? stderr : stdout);
    status.listening(s);
    if (seen) {
        seen->set_counters([&s] { return s.counters(); });
        status.has_dashboard(from_here(s.urls().front()) + dashboard_path);
    }
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            live.begin(l);
            spawn([&] { return stop_on_signal(signals, s, rt, place, status); }, "signals");
            spawn([&] { return dump_on_signal(dump_signal, rt); }, "dump signal");
            spawn([&] { return place.run(s, rt); }, "service");
            if (renewal_signal) spawn([&] { return renews.run(*renewal_signal); }, "renewal");
            if (security) {
                spawn([&] { return tls::reload_on_change(*security); }, "certificates");
            }
        }
        co_await s.run(l);
    });
    if (accesses) {
        // A pipe may take nothing for ever.
        if (!accesses->flush(std::chrono::seconds(1))) {
            std::fputs("coracle: the end of the access log could not be written in time\n", stderr);
        }
        report_drops(*accesses);
    }
    status.ended(s);
}

}  // namespace coracle::tool
