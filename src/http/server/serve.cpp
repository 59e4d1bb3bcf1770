#include <coracle/http/server.hpp>
#include <coracle/http/service.hpp>
#include <coracle/net/descriptor_limit.hpp>
#include <coracle/runtime/signals.hpp>
#include <coracle/tls/reload.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace coracle::http {
namespace {

task<> watch_signals(signal_set& signals, server& s, runtime& rt, const service& place) {
    co_await signals.next();
    place.stopping();
    rt.log().write(log_layer::http, log_level::info, "draining");
    s.stop();
    co_await signals.next();
    rt.log().write(log_layer::http, log_level::warning, "cut by a second signal");
    rt.stop();
}

task<> reload_on_signal(signal_set& signals, tls::server_context& c, const logger& log) {
    for (;;) {
        co_await signals.next();
        tls::reload(c, log);
    }
}

/// Takes the signals that came when nobody waited for them any more: the third of an impatient
/// operator would end the process when the drain is done, by the signal.
class late_signals {
public:
    explicit late_signals(bool with_hangup) noexcept : with_hangup_(with_hangup) {}
    late_signals(const late_signals&) = delete;
    late_signals& operator=(const late_signals&) = delete;
    ~late_signals() {
        sigset_t ours;
        ::sigemptyset(&ours);
        ::sigaddset(&ours, SIGINT);
        ::sigaddset(&ours, SIGTERM);
        if (with_hangup_) ::sigaddset(&ours, SIGHUP);
        const timespec at_once{};
        while (::sigtimedwait(&ours, nullptr, &at_once) > 0) {
        }
    }

private:
    bool with_hangup_;
};

}  // namespace

void serve(handler h, server_options options, unique_function<void(server&)> ready) {
    // Takes variables out of the environment, which only one thread may do.
    service place({.handover = options.handover});
    options = place.listening(std::move(options));
    // Raises the soft limit of descriptors: the usual 1024 are few for a server.
    net::raise_descriptor_limit();
    // Done before the threads of the loops are made, which inherit the signal mask.
    signal_set signals{SIGINT, SIGTERM};
    std::optional<signal_set> hangup;
    if (options.tls) hangup.emplace({SIGHUP});
    const late_signals late(hangup.has_value());
    const auto certificates = options.tls;
    const auto beside = std::move(options.side_tasks);
    runtime_options on;
    on.loops = options.loops;
    on.pin = options.pin;
    on.backend = options.backend;
    on.log = options.log;
    runtime rt(on);
    server s(std::move(h), std::move(options));
    place.equip(s);
    s.open(rt);
    if (ready) ready(s);
    rt.run([&](loop& l) -> task<> {
        if (l.index() == 0) {
            spawn([&] { return watch_signals(signals, s, rt, place); }, "signals");
            spawn([&] { return place.run(s, rt); }, "service");
            for (const side_task& t : beside) {
                // Called inside the task: what the call throws is logged, too.
                spawn([&t] { return coracle::detail::call_in_task(t.work); }, t.name);
            }
        }
        if (l.index() == 0 && certificates) {
            const auto by_signal = [&] {
                return reload_on_signal(*hangup, *certificates, rt.log());
            };
            spawn(by_signal, "certificates");
            spawn([&] { return tls::reload_on_change(*certificates); }, "certificates");
        }
        co_await s.run(l);
    });
}

void serve(handler h, server_options options) {
    const auto announce = [](server& s) {
        for (const std::string& url : s.urls()) std::printf("listening on %s\n", url.c_str());
        std::fflush(stdout);
    };
    try {
        serve(std::move(h), std::move(options), announce);
    } catch (const exception& e) {
        std::fprintf(stderr, "%s: cannot serve: %s\n", program_invocation_short_name, e.what());
        std::exit(EXIT_FAILURE);
    }
}

}  // namespace coracle::http
