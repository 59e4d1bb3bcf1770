#include "support/scripted_network.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_scripted;
using coracle::testing::scripted_network;
using coracle::testing::simulation;

namespace {

net::address at(std::string_view text) {
    return net::address::parse(text).value();
}

/// Connects to boats:80; returns the host that responded, or the error.
task<std::string> who(connect::options o) {
    net::resolver names(*loop::current());
    auto s = co_await as_result(connect::to(names, "boats", 80, o));
    if (!s) co_return s.error().message();
    co_return (*s)->peer().to_string();
}

/// Where a listener at this address sees us come from; or the error.
std::string seen_from(simulation& s, const net::address& where, const connect::options& o) {
    s.backend().add_name("boats", {at("[2001:db8::1]:0"), at("192.0.2.1:0")});
    return s.run([&]() -> task<std::string> {
        auto l = net::listener::open(*loop::current(), where).value();
        const std::string outcome = co_await who(o);
        if (outcome != where.to_string()) co_return outcome;
        auto accepted = co_await l.accept();
        co_return accepted->peer().to_string();
    });
}

connect::overrides known(const char* entry) {
    connect::overrides all;
    EXPECT_TRUE(all.add(entry));
    return all;
}

}  // namespace

TEST(connect_options, addresses_that_are_known_are_not_asked_for) {
    run_scripted([](scripted_network& n) -> task<> {
        n.host("192.0.2.2").after = 1ms;
        connect::options o;
        connect::timings times;
        o.resolve(known("boats:80:[2001:db8::2],192.0.2.2")).record(&times);
        std::string winner = co_await who(o);
        EXPECT_EQ(winner, "192.0.2.2:80");
        EXPECT_EQ(n.log_text(), "0 connect [2001:db8::2]\n250 connect 192.0.2.2\n");
        EXPECT_EQ(times.resolve, 0ms);
        EXPECT_EQ(times.connect, 251ms);
        EXPECT_EQ(times.peer, at("192.0.2.2:80"));
        o.only(net::family::v4);
        winner = co_await who(o);
        EXPECT_EQ(winner, "192.0.2.2:80");
        EXPECT_EQ(n.log().back(), "251 connect 192.0.2.2");
        o.resolve(known("*:*:192.0.2.2")).only(net::family::v6);
        winner = co_await who(o);
        EXPECT_EQ(winner, "resolve boats: the name has no such address, phase resolve");
    });
}

TEST(connect_options, names_have_a_limit_of_their_own) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v6("boats").after = n.v4("boats").after = 10s;
        connect::options o;
        o.resolve_timeout(2s);
        const std::string told = co_await who(o);
        EXPECT_EQ(told, "resolve boats: Connection timed out, phase resolve");
        EXPECT_EQ(loop::current()->now().time_since_epoch(), 1002s);
    });
}

TEST(connect_options, what_is_resolved_by_the_limit_has_to_do) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v4("boats").addresses = {"192.0.2.1"};
        n.v6("boats").after = 10s;
        n.host("192.0.2.1") = {5s, -ECONNREFUSED};
        connect::options o;
        o.resolve_timeout(2s);
        const std::string told = co_await who(o);
        EXPECT_EQ(told,
                  "connect boats:80 (192.0.2.1:80): Connection refused, phase connect, attempt 1, "
                  "safe to retry");
        EXPECT_EQ(loop::current()->now().time_since_epoch(), 1005050ms);
    });
}

TEST(connect_options, a_local_address_is_bound_to_and_leaves_one_family) {
    simulation s(1);
    connect::options o;
    o.bind(at("192.0.2.77:5000"));
    EXPECT_EQ(seen_from(s, at("192.0.2.1:80"), o), "192.0.2.77:5000");
    EXPECT_LT(s.elapsed(), 100ms);
}

TEST(connect_options, an_interface_is_an_address_or_a_device) {
    simulation s(1);
    connect::options o;
    o.interface_name("2001:db8::77");
    EXPECT_EQ(seen_from(s, at("[2001:db8::1]:80"), o).substr(0, 15), "[2001:db8::77]:");
    simulation t(1);
    connect::options device;
    device.interface_name("eth0");
    const std::string told = seen_from(t, at("192.0.2.1:80"), device);
    EXPECT_NE(told.find("No such device"), std::string::npos) << told;
    simulation u(1);
    connect::options too_long;
    too_long.interface_name("a-name-of-16-byte");
    EXPECT_EQ(seen_from(u, at("192.0.2.1:80"), too_long),
              "connect interface: No such device, phase connect");
}

TEST(connect_options, a_unix_socket_stands_in_for_every_name) {
    for (const char* path : {"/run/boats", "@boats"}) {
        simulation s(1);
        connect::options o;
        connect::timings times;
        o.unix_socket(path).record(&times).bind(at("192.0.2.77:0"));
        o.proxy(connect::proxy(connect::proxy_kind::http, "nowhere", 1));
        const net::address where = at("unix:" + std::string(path));
        EXPECT_TRUE(seen_from(s, where, o).starts_with("unix:"));
        EXPECT_EQ(times.peer, where);
        EXPECT_GT(times.connect, 0us);
    }
    simulation s(1);
    connect::options nobody;
    nobody.unix_socket("/nobody");
    EXPECT_EQ(seen_from(s, at("192.0.2.1:80"), nobody),
              "connect unix:/nobody: No such file or directory, phase connect, safe to retry");
    simulation t(1);
    connect::options too_long;
    too_long.unix_socket(std::string(108, 'x'));
    EXPECT_EQ(seen_from(t, at("192.0.2.1:80"), too_long),
              "connect unix:" + std::string(108, 'x') + ": Invalid argument, phase connect");
}
