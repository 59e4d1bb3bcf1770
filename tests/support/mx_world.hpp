#pragma once

#include "support/plain_mail.hpp"
#include "support/temporary_directory.hpp"
#include "support/test_ca.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/smtp/client.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/testing/smtp_sink.hpp>
#include <coracle/tls/context.hpp>

#include <chrono>
#include <deque>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coracle::testing {

inline smtp::client_options plain_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    o.connect_timeout = std::chrono::seconds(5);
    return o;
}

inline smtp::message to(std::string_view recipients) {
    smtp::message m;
    m.from("ada@sender.example").to(recipients).subject("Hello").text("How are you?\n");
    return m;
}

/// A world in whose time certificates that are made now are valid.
inline simulation_options now_as_it_is() {
    simulation_options o;
    o.unix_time = block_on([]() -> task<std::int64_t> { co_return loop::current()->unix_time(); });
    return o;
}

/// Servers for mail in a simulated world, by the names that they have.
class mx_world {
public:
    /// A server for mail: `name` becomes `at`, or 10.0.0.1, then 10.0.0.2 and so on.
    smtp_sink& host(const std::string& name, smtp_sink_options o = {}, std::string at = {}) {
        if (at.empty()) at = next_address();
        o.listen = at + ":25";
        backend().add_name(name, {*net::address::parse(at + ":0")});
        sinks_.emplace_back(world.loop(), o);
        names_[name] = &sinks_.back();
        return sinks_.back();
    }
    /// A name at which nothing listens.
    void dead(const std::string& name) {
        backend().add_name(name, {*net::address::parse(next_address() + ":0")});
    }
    smtp_sink& operator[](const std::string& name) { return *names_.at(name); }
    void mail_of(const std::string& domain, const std::vector<net::mail_host>& hosts) {
        backend().add_mail_hosts(domain, hosts);
    }
    simulated_backend& backend() { return world.backend(); }

    /// Runs `f(client)`, and stops the servers.
    void run(const std::function<task<>(smtp::client&)>& f) {
        auto main = [&]() -> task<> {
            smtp::client mail("mx:", options, pool);
            for (const auto& [domain, policy] : policies) mail.set_policy(domain, policy);
            auto working = f(mail);
            co_await std::move(working);
            for (smtp_sink& s : sinks_) s.stop();
            for (smtp_sink& s : sinks_) co_await s.stopped();
        };
        world.run(main);
    }
    /// The outcome of one mail.
    mail_outcome send(const smtp::message& m) {
        mail_outcome r = std::unexpected(error());
        run([&](smtp::client& mail) -> task<> {
            auto sending = mail.send(m);
            r = co_await as_result(sending);
        });
        return r;
    }

    simulation world{now_as_it_is()};
    smtp::client_options options = plain_options();
    smtp::pool_options pool;
    std::map<std::string, smtp::sts_policy> policies;
    temporary_directory folder;

private:
    std::string next_address() {
        ++hosts_;
        return "10.0." + std::to_string(hosts_ / 200) + '.' + std::to_string(hosts_ % 200);
    }

    unsigned hosts_ = 0;
    std::deque<smtp_sink> sinks_;
    std::map<std::string, smtp_sink*> names_;
};

inline smtp_sink_options with_certificate(const test_ca& ca, const std::string& name,
                                          tls::version most = tls::version::tls_1_3) {
    tls::server_options server;
    server.maximum = most;
    server.certificates.push_back(ca.issue({.names = {name}}));
    smtp_sink_options o;
    o.tls = std::make_shared<tls::server_context>(server);
    return o;
}

inline void trust(mx_world& w, const test_ca& ca) {
    const auto path = w.folder.path() / "ca.pem";
    std::ofstream(path) << ca.pem();
    w.options.certificates.authorities = path.string();
}

inline smtp::sts_policy enforced(std::vector<std::string> mx) {
    smtp::sts_policy p;
    p.mode = smtp::sts_mode::enforce;
    p.mx = std::move(mx);
    return p;
}

}  // namespace coracle::testing
