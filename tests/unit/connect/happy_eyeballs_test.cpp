#include "support/scripted_network.hpp"

#include <coracle/connect/connect.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_scripted;
using coracle::testing::scripted_network;

namespace {

using addresses = std::vector<std::string>;

/// Connects to "boats", port 80, and returns the host that responded, or the error's message.
task<std::string> who(connect::options o = {}) {
    net::resolver names(*loop::current());
    auto s = co_await as_result(connect::to(names, "boats", 80, o));
    if (!s) co_return s.error().message();
    co_return (*s)->peer().to_string();
}

void two_and_two(scripted_network& n) {
    n.v6("boats").addresses = addresses{"2a00::1", "2a00::2"};
    n.v4("boats").addresses = addresses{"192.0.2.1", "192.0.2.2"};
}

}  // namespace

TEST(happy_eyeballs, takes_v6_first_when_all_is_well) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("[2a00::1]").after = 20ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "[2a00::1]:80");
        EXPECT_EQ(n.log_text(), "0 ask boats v6\n0 ask boats v4\n0 connect [2a00::1]\n");
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, tries_the_next_beside_one_that_does_not_respond) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("192.0.2.1").after = 30ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "192.0.2.1:80");
        EXPECT_EQ(n.log().at(3), "250 connect 192.0.2.1");
        EXPECT_EQ(n.log().size(), 4u);
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, lets_a_slow_first_win_over_a_slower_second) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("[2a00::1]").after = 300ms;
        n.host("192.0.2.1").after = 100ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "[2a00::1]:80");
    });
}

TEST(happy_eyeballs, tries_the_next_at_once_when_one_fails) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("[2a00::1]") = {5ms, -ECONNREFUSED};
        n.host("192.0.2.1") = {0ms, -ENETUNREACH};
        n.host("[2a00::2]").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "[2a00::2]:80");
        EXPECT_EQ(n.log().at(3), "5 connect 192.0.2.1");
        EXPECT_EQ(n.log().at(4), "5 connect [2a00::2]");
    });
}

TEST(happy_eyeballs, lets_families_take_turns) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v6("boats").addresses = addresses{"2a00::1", "2a00::2", "2a00::3"};
        n.v4("boats").addresses = addresses{"192.0.2.1"};
        n.host("[2a00::3]").after = 1ms;
        auto o = connect::options();
        o.attempt_delay(100ms);
        const std::string winner = co_await who(o);
        EXPECT_EQ(winner, "[2a00::3]:80");
        EXPECT_EQ(n.log_text(),
                  "0 ask boats v6\n0 ask boats v4\n0 connect [2a00::1]\n"
                  "100 connect 192.0.2.1\n200 connect [2a00::2]\n"
                  "300 connect [2a00::3]\n");
    });
}

TEST(happy_eyeballs, waits_a_little_for_the_addresses_of_v6) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v6("boats").after = 40ms;
        n.host("[2a00::1]").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "[2a00::1]:80");
        EXPECT_EQ(n.log().at(2), "40 connect [2a00::1]");
    });
}

TEST(happy_eyeballs, does_not_wait_long_for_the_addresses_of_v6) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v4("boats").after = 10ms;
        n.v6("boats").after = 5s;
        n.host("192.0.2.1").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "192.0.2.1:80");
        EXPECT_EQ(n.log().at(2), "60 connect 192.0.2.1");
        EXPECT_EQ(n.log().size(), 3u);
    });
}

TEST(happy_eyeballs, takes_up_addresses_that_come_late) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v6("boats").after = 100ms;
        n.host("[2a00::1]").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "[2a00::1]:80");
        EXPECT_EQ(n.log().at(2), "50 connect 192.0.2.1");
        EXPECT_EQ(n.log().at(3), "300 connect [2a00::1]");
    });
}

TEST(happy_eyeballs, does_not_wait_for_v6_when_there_is_none) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v4("boats").addresses = addresses{"192.0.2.1"};
        n.v4("boats").after = 3ms;
        n.host("192.0.2.1").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "192.0.2.1:80");
        EXPECT_EQ(n.log().at(2), "3 connect 192.0.2.1");
    });
}

TEST(happy_eyeballs, reports_each_address_and_why) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v6("boats").addresses = addresses{"2a00::1"};
        n.v4("boats").addresses = addresses{"192.0.2.1"};
        n.host("[2a00::1]") = {5ms, -ENETUNREACH};
        n.host("192.0.2.1") = {5ms, -ECONNREFUSED};
        const std::string message = co_await who();
        EXPECT_EQ(message,
                  "connect boats:80 ([2a00::1]:80 Network is unreachable; 192.0.2.1:80 Connection "
                  "refused): Network is unreachable, phase connect, attempt 2, safe to retry");
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, gives_up_after_its_limit_and_says_who_did_not_respond) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v6("boats").addresses = addresses{"2a00::1"};
        n.v4("boats").addresses = addresses{"192.0.2.1"};
        n.host("192.0.2.1") = {5ms, -ECONNREFUSED};
        auto o = connect::options();
        o.timeout(2s);
        const time_point start = loop::current()->now();
        const std::string message = co_await who(o);
        EXPECT_EQ(message,
                  "connect boats:80 (192.0.2.1:80 Connection refused; [2a00::1]:80 no "
                  "response): Connection timed out, phase connect, attempt 2, safe to "
                  "retry");
        EXPECT_EQ(loop::current()->now() - start, 2s);
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, gives_up_after_its_limit_while_it_waits_for_addresses) {
    run_scripted([](scripted_network& n) -> task<> {
        n.v6("boats").after = n.v4("boats").after = scripted_network::never;
        auto o = connect::options();
        o.timeout(2s);
        const std::string message = co_await who(o);
        EXPECT_EQ(message, "connect boats:80: Connection timed out, phase resolve, safe to retry");
    });
}

TEST(happy_eyeballs, says_that_there_is_no_such_host) {
    run_scripted([](scripted_network&) -> task<> {
        const std::string message = co_await who();
        EXPECT_EQ(message, "resolve boats: no such host, phase resolve");
    });
}

TEST(happy_eyeballs, connects_although_one_family_cannot_be_asked_for) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v6("boats").result = -EIO;
        n.host("192.0.2.1").after = 1ms;
        const std::string winner = co_await who();
        EXPECT_EQ(winner, "192.0.2.1:80");
    });
}

TEST(happy_eyeballs, keeps_to_one_family_when_told) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("192.0.2.1").after = n.host("[2a00::1]").after = 1ms;
        auto o = connect::options();
        o.only(net::family::v4);
        const std::string winner = co_await who(o);
        EXPECT_EQ(winner, "192.0.2.1:80");
        EXPECT_EQ(n.log().at(0), "0 ask boats v4");
    });
}

TEST(happy_eyeballs, tries_only_so_many_addresses) {
    run_scripted([](scripted_network& n) -> task<> {
        for (int i = 1; i != 60; ++i) {
            n.v4("boats").addresses.push_back("192.0.2." + std::to_string(i));
            n.host("192.0.2." + std::to_string(i)) = {0ms, -ECONNREFUSED};
        }
        const std::string message = co_await who();
        EXPECT_EQ(n.log().size(), 22u);
        EXPECT_NE(message.find("; 12 more)"), std::string::npos) << message;
    });
}

TEST(happy_eyeballs, tries_no_more_addresses_when_a_family_responds_late) {
    run_scripted([](scripted_network& n) -> task<> {
        for (int i = 1; i != 60; ++i) {
            n.v4("boats").addresses.push_back("192.0.2." + std::to_string(i));
            n.host("192.0.2." + std::to_string(i)) = {0ms, -ECONNREFUSED};
            n.v6("boats").addresses.push_back("2a00::" + std::to_string(i));
        }
        // The last one keeps the connect waiting until there are addresses of IPv6.
        n.host("192.0.2.20").after = scripted_network::never;
        n.v6("boats").after = 5s;
        const std::string message = co_await who();
        EXPECT_EQ(n.log().size(), 22u);
        EXPECT_NE(message.find("; 12 more)"), std::string::npos) << message;
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, does_not_wait_for_addresses_that_it_would_not_try) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v6("boats").after = 5s;
        n.host("192.0.2.1") = n.host("192.0.2.2") = {0ms, -ECONNREFUSED};
        auto o = connect::options();
        o.addresses(2);
        const time_point start = loop::current()->now();
        const std::string message = co_await who(o);
        EXPECT_EQ(n.log().size(), 4u);
        EXPECT_EQ(loop::current()->now() - start, 50ms);
        EXPECT_NE(message.find("attempt 2"), std::string::npos) << message;
    });
}

TEST(happy_eyeballs, tries_one_address_at_least) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("[2a00::1]") = {0ms, -ECONNREFUSED};
        auto o = connect::options();
        o.addresses(0);
        const std::string message = co_await who(o);
        EXPECT_EQ(n.log().size(), 3u);
        EXPECT_NE(message.find("attempt 1"), std::string::npos) << message;
    });
}

TEST(happy_eyeballs, keeps_the_attempt_delay_within_its_bounds) {
    EXPECT_EQ(connect::options().attempt_delay(1ms).attempt_delay(), 10ms);
    EXPECT_EQ(connect::options().attempt_delay(1h).attempt_delay(), 2s);
}

TEST(happy_eyeballs, ends_all_attempts_when_it_is_cancelled) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        net::resolver names(*loop::current());
        const auto ended = co_await as_result(with_timeout(600ms, connect::to(names, "boats", 80)));
        EXPECT_FALSE(ended);
        EXPECT_EQ(ended.error(), std::errc::timed_out);
        EXPECT_EQ(n.log().size(), 5u);
        EXPECT_EQ(n.open(), 0);
    });
}

TEST(happy_eyeballs, ends_when_it_is_cancelled_while_it_waits_for_addresses) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.v6("boats").after = n.v4("boats").after = 10s;
        const time_point start = loop::current()->now();
        net::resolver names(*loop::current());
        const auto ended = co_await as_result(with_timeout(600ms, connect::to(names, "boats", 80)));
        EXPECT_FALSE(ended);
        EXPECT_EQ(ended.error(), std::errc::timed_out);
        EXPECT_EQ(loop::current()->now() - start, 600ms);
    });
}

TEST(happy_eyeballs, gives_one_stream_when_two_respond_at_the_same_moment) {
    run_scripted([](scripted_network& n) -> task<> {
        two_and_two(n);
        n.host("[2a00::1]").after = 350ms;
        n.host("192.0.2.1").after = 100ms;
        const std::string winner = co_await who();
        EXPECT_FALSE(winner.empty());
        EXPECT_EQ(n.open(), 0);
    });
}
