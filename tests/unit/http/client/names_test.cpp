// The options of a client that say which address a host has, in virtual time.

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;
using ::testing::HasSubstr;

namespace {

/// "boats.test" has an address of each family, and a server at both.
class client_names : public ::testing::Test {
protected:
    client_names() {
        sim_.backend().add_name("boats.test", {address("[2001:db8::1]:0"), address("192.0.2.1:0")});
    }
    static net::address address(std::string_view text) { return net::address::parse(text).value(); }
    template <class F>
    void run(F test) {
        sim_.run([&]() -> task<> {
            http::server_options o;
            o.listen = "192.0.2.1:80,[2001:db8::1]:80,192.0.2.2:80";
            local_server server(sim_.loop(), [](http::request&) { return "here"; }, o);
            http::client_options defaults;
            defaults.proxy_from_environment = false;
            http::client client(defaults);
            client_ = &client;
            co_await test();
            server.stop();
            co_await server.stopped();
        });
    }
    /// Returns the server that responds to a call with these options, or the error.
    task<std::string> peer(std::string_view url, std::string_view options) {
        http::call c = client_->get(url).options(options);
        auto asking = c.full();
        auto r = co_await as_result(asking);
        if (!r) {
            failure_ = r.error();
            co_return r.error().message();
        }
        co_return r->info.peer.to_string();
    }

    simulation sim_{1};
    http::client* client_ = nullptr;
    error failure_;
};

}  // namespace

TEST_F(client_names, have_addresses_of_one_family_where_that_is_asked_for) {
    run([this]() -> task<> {
        const std::string url = "http://boats.test/";
        EXPECT_EQ(co_await peer(url, "family=v4"), "192.0.2.1:80");
        EXPECT_EQ(co_await peer(url, "family=v6"), "[2001:db8::1]:80");
        EXPECT_EQ(co_await peer(url, "family=any"), "[2001:db8::1]:80");
        sim_.backend().add_name("old.test", {address("192.0.2.1:0")});
        EXPECT_EQ(co_await peer("http://old.test/", "family=any"), "192.0.2.1:80");
        co_await peer("http://old.test/", "family=v6");
        EXPECT_EQ(failure_.phase(), phase::resolve) << failure_;
    });
}

TEST_F(client_names, may_be_told_and_are_not_asked_for_then) {
    run([this]() -> task<> {
        const std::string url = "http://boats.test/";
        EXPECT_EQ(co_await peer(url, "resolve=boats.test:80:192.0.2.2"), "192.0.2.2:80");
        // One of another port is not meant, and one that does not respond not the only one.
        EXPECT_EQ(co_await peer(url, "resolve=boats.test:81:192.0.2.2, family=v4"), "192.0.2.1:80");
        const std::uint64_t asked = sim_.backend().submitted(opcode::resolve);
        EXPECT_EQ(
            co_await peer("http://ships.test/",
                          "resolve=\"none.test:80:192.0.2.1;ships.test:80:192.0.2.9,192.0.2.2\""),
            "192.0.2.2:80");
        EXPECT_EQ(sim_.backend().submitted(opcode::resolve), asked);
        co_await peer(url, "resolve=boats.test");
        EXPECT_EQ(failure_, std::errc::invalid_argument);
        EXPECT_THAT(failure_.message(), HasSubstr("resolve"));
    });
}

TEST_F(client_names, take_only_so_long) {
    run([this]() -> task<> {
        sim_.backend().delay_names(10s, 10s);
        const time_point began = sim_.now();
        co_await peer("http://boats.test/", "resolve_timeout=2s");
        EXPECT_EQ(failure_, std::errc::timed_out);
        EXPECT_EQ(failure_.phase(), phase::resolve) << failure_;
        EXPECT_GE(sim_.now() - began, 2s);
        // Timers fire up to 1/16 s late.
        EXPECT_LE(sim_.now() - began, 2100ms);
        EXPECT_EQ(co_await peer("http://boats.test/", "resolve_timeout=11s, family=v4"),
                  "192.0.2.1:80");
    });
}

TEST_F(client_names, may_take_as_long_as_connecting_by_default) {
    run([this]() -> task<> {
        sim_.backend().delay_names(40s, 40s);
        const time_point began = sim_.now();
        co_await peer("http://boats.test/", "");
        EXPECT_EQ(failure_, std::errc::timed_out);
        EXPECT_GE(sim_.now() - began, 30s);
        EXPECT_LE(sim_.now() - began, 31s);
        EXPECT_EQ(co_await peer("http://boats.test/", "connect_timeout=0, family=v4"),
                  "192.0.2.1:80");
    });
}
