// The mail client that delivers to the hosts of each domain, on loopback with a name server.

#include "support/dns_server.hpp"
#include "support/on_each_backend.hpp"

#include <coracle/smtp/client.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/smtp_sink.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

using namespace coracle;
using namespace coracle::testing;

namespace {

smtp::client_options plain_options() {
    smtp::client_options o;
    o.proxy_from_environment = false;
    return o;
}

smtp::message to(std::string_view recipients) {
    smtp::message m;
    m.from("ada@sender.example").to(recipients).subject("Hello").text("How are you?\n");
    return m;
}

/// A resolver that asks this server alone.
smtp::pool_options asking(const dns_server& names) {
    smtp::pool_options pool;
    pool.resolver = coracle::testing::asking({names.at()});
    return pool;
}

class smtp_mx_loopback : public on_each_backend {};

}  // namespace

TEST_P(smtp_mx_loopback, finds_hosts_by_a_name_server) {
    smtp_sink first;
    // Another address of the loopback, with this port.
    smtp_sink_options elsewhere;
    elsewhere.listen = "127.0.0.2:" + std::to_string(first.port());
    smtp_sink second(elsewhere);
    dns_server names([](const dns_query& q) -> std::vector<std::string> {
        dns_reply r(q);
        if (q.type == dns_mx && q.name == "boats.test") {
            r.mx(q.name, 5, "near.boats.test").mx(q.name, 10, "dead.boats.test");
            r.mx(q.name, 20, "mx.boats.test");
        } else if (q.type == dns_aaaa && q.name == "near.boats.test") {
            r.aaaa(q.name, "fe80::1");
        } else if (q.type == dns_mx && q.name == "null.test") {
            r.mx(q.name, 0, "");
        } else if (q.type == dns_a && q.name == "dead.boats.test") {
            r.a(q.name, "127.0.0.3");
        } else if (q.type == dns_a && q.name == "mx.boats.test") {
            r.a(q.name, "127.0.0.1");
        } else if (q.type == dns_a && q.name == "plain.test") {
            r.a(q.name, "127.0.0.2");
        }
        return {r};
    });
    run([&]() -> task<> {
        smtp::client_options o = plain_options();
        o.rcpt_allow_fails = true;
        smtp::client mail("mx:" + std::to_string(first.port()), o, asking(names));
        for (int i = 0; i != 2; ++i) {
            const smtp::message m = to("a@boats.test, b@plain.test, c@null.test");
            auto sending = mail.send(m);
            const auto r = co_await as_result(sending);
            EXPECT_TRUE(r) << r.error();
            if (!r) co_return;
            EXPECT_TRUE(r->recipients[0].accepted && r->recipients[1].accepted);
            EXPECT_FALSE(r->recipients[2].accepted);
        }
    });
    EXPECT_EQ(first.count(), 2u);
    EXPECT_EQ(second.count(), 2u);
    EXPECT_EQ(names.asked("boats.test", dns_mx), 1u) << "the second mail asks nobody";
}

// They would lead to a host that nobody has named.
TEST_P(smtp_mx_loopback, looks_for_no_host_in_search_domains) {
    smtp_sink elsewhere;
    dns_server names([](const dns_query& q) -> std::vector<std::string> {
        dns_reply r(q);
        if (q.type == dns_mx && q.name == "boats.test") r.mx(q.name, 10, "mx.boats.test");
        if (q.type == dns_a && q.name.ends_with(".corp.test")) r.a(q.name, "127.0.0.1");
        return {r};
    });
    const scripted_peer proxy(script().read_to_end());
    for (const auto& [dots, proxied] :
         {std::pair(1U, false), std::pair(5U, false), std::pair(1U, true)}) {
        smtp::pool_options pool = asking(names);
        pool.resolver.search = {"corp.test"};
        pool.resolver.dots = dots;
        smtp::client_options o = plain_options();
        // Gets addresses from us.
        if (proxied) o.proxy = "socks5://" + proxy.address().to_string();
        run([&]() -> task<> {
            smtp::client mail("mx:" + std::to_string(elsewhere.port()), o, pool);
            for (const char* recipient : {"a@boats.test", "a@plain.test"}) {
                const smtp::message m = to(recipient);
                auto sending = mail.send(m);
                const auto r = co_await as_result(sending);
                EXPECT_FALSE(r) << recipient;
            }
        });
    }
    EXPECT_EQ(elsewhere.connections(), 0u);
    EXPECT_EQ(proxy.connections(), 0u);
    EXPECT_EQ(names.asked("mx.boats.test.corp.test", dns_a), 0u);
}

TEST_P(smtp_mx_loopback, falls_back_to_a_domain_that_has_addresses_of_ipv6_alone) {
    smtp_sink_options so;
    so.listen = "[::1]:0";
    smtp_sink sink(so);
    dns_server names([](const dns_query& q) -> std::vector<std::string> {
        dns_reply r(q);
        if (q.type == dns_aaaa && q.name == "six.test") r.aaaa(q.name, "::1");
        return {r};
    });
    run([&]() -> task<> {
        smtp::client mail("mx:" + std::to_string(sink.port()), plain_options(), asking(names));
        const smtp::message m = to("a@six.test");
        auto sending = mail.send(m);
        const auto r = co_await as_result(sending);
        EXPECT_TRUE(r) << r.error();
        if (r) {
            EXPECT_EQ(r->server, "[::1]:" + std::to_string(sink.port()));
        }
    });
    EXPECT_EQ(sink.count(), 1u);
    EXPECT_EQ(names.asked("six.test", dns_mx), 1u);
}

INSTANTIATE_TEST_SUITE_P(backends, smtp_mx_loopback, system_backends(), backend_name);
