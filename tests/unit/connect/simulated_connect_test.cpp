#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::simulation;

namespace {

net::address v4(std::uint16_t port) {
    return net::address::v4({192, 0, 2, 1}, port);
}
net::address v6(std::uint16_t port) {
    return net::address::parse("[2001:db8::1]:" + std::to_string(port)).value();
}

/// Connects to boats:80, with a listener at the address of IPv4 only.
std::string who(simulation& s) {
    s.backend().add_name("boats", {v6(0), v4(0)});
    return s.run([]() -> task<std::string> {
        loop& l = *loop::current();
        auto listener = net::listener::open(l, v4(80));
        net::resolver names(l);
        auto stream = co_await connect::to(names, "boats", 80);
        co_return stream->peer().to_string();
    });
}

}  // namespace

TEST(simulated_connect, goes_on_to_the_next_address_when_nobody_listens) {
    for (const std::uint64_t seed : coracle::testing::seeds(50)) {
        simulation s(seed);
        EXPECT_EQ(who(s), "192.0.2.1:80") << s.replay();
        EXPECT_LT(s.elapsed(), 100ms) << s.replay();
    }
}

TEST(simulated_connect, does_not_wait_for_an_address_that_never_responds) {
    for (const std::uint64_t seed : coracle::testing::seeds(50)) {
        simulation s(seed);
        s.backend().black_hole(v6(0));
        EXPECT_EQ(who(s), "192.0.2.1:80") << s.replay();
        EXPECT_GE(s.elapsed(), 250ms) << s.replay();
        EXPECT_LT(s.elapsed(), 400ms) << s.replay();
        EXPECT_EQ(s.backend().open_descriptors(), 0u) << s.replay();
    }
}

/// Where the caller keeps the time, an address needs no race.
TEST(simulated_connect, reaches_what_is_an_address_already) {
    for (const std::uint64_t seed : coracle::testing::seeds(50)) {
        simulation s(seed);
        s.backend().black_hole(v6(0));
        s.run([]() -> task<> {
            loop& l = *loop::current();
            auto listener = net::listener::open(l, v4(80));
            net::resolver names(l);
            auto o = connect::options();
            connect::timings times;
            o.timeout(duration::max()).record(&times);
            auto stream = co_await connect::to(names, "192.0.2.1", 80, o);
            EXPECT_EQ(stream->peer().to_string(), "192.0.2.1:80");
            EXPECT_EQ(times.peer.to_string(), "192.0.2.1:80");
            auto nobody = co_await as_result(connect::to(names, "192.0.2.1", 81, o));
            EXPECT_EQ(nobody.error(), std::errc::connection_refused);
            EXPECT_EQ(nobody.error().phase(), phase::connect);
            EXPECT_EQ(nobody.error().subject(), "192.0.2.1:81");
            EXPECT_TRUE(nobody.error().safe_to_retry());
            // One family only, and the address is of the other.
            o.only(net::family::v6);
            auto other = co_await as_result(connect::to(names, "192.0.2.1", 80, o));
            EXPECT_EQ(other.error().phase(), phase::resolve);
            o.only(net::family::none);
            auto never =
                co_await as_result(with_timeout(1s, connect::to(names, "2001:db8::1", 80, o)));
            EXPECT_EQ(never.error(), std::errc::timed_out);
            EXPECT_EQ(times.reached, phase::connect);
        });
        EXPECT_EQ(s.backend().open_descriptors(), 0u) << s.replay();
    }
}

TEST(simulated_connect, says_what_is_wrong_with_each_address) {
    simulation s(1);
    s.backend().add_name("boats", {v6(0), v4(0)});
    s.backend().black_hole(v6(0));
    s.run([]() -> task<> {
        net::resolver names(*loop::current());
        auto o = connect::options();
        o.timeout(3s);
        auto stream = co_await as_result(connect::to(names, "boats", 80, o));
        EXPECT_FALSE(stream);
        const std::string why(stream.error().subject());
        EXPECT_EQ(why,
                  "boats:80 (192.0.2.1:80 Connection refused; [2001:db8::1]:80 no "
                  "response)");
        auto unknown = co_await as_result(connect::to(names, "ships", 80));
        EXPECT_EQ(unknown.error().code(), net::resolve_errc::no_such_host);
    });
}
