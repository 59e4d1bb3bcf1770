// Calls that go over HTTP/1.1 because a server of HTTP/2 wants it so.

#include "support/reluctant_server.hpp"

#include <coracle/http/client.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/context.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using h2_code = http::h2::error_code;

using protocols = std::vector<std::string>;

/// With `offered` the client has a context of its own with these protocols.
template <class F>
void with_reluctant(F body, const std::optional<protocols>& offered = {}) {
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
        simulation_options options;
        options.seed = seed;
        simulation sim(options);
        sim.run([&]() -> task<> {
            reluctant_server server;
            http::client_options o;
            o.proxy_from_environment = false;
            o.insecure = true;
            if (offered) {
                tls::client_options t;
                t.insecure = true;
                t.protocols = *offered;
                o.tls_context = std::make_shared<tls::client_context>(t);
            }
            http::client client(o);
            bool finished = false;
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&] { return server.serve(group); });
                co_await body(server, client);
                finished = true;
                group.cancel();
            };
            const auto ended = co_await as_result(with_task_group(block));
            EXPECT_TRUE(finished) << (ended ? error() : ended.error());
        });
    }
}

TEST(client_h2_fallback, takes_a_server_that_wants_http_1_at_its_word) {
    with_reluctant([](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream& r) {
            c.reset(r, h2_code::http_1_1_required);
        };
        const auto first = co_await client.post(server.url()).body("x").full();
        EXPECT_EQ(first.body, "old");
        EXPECT_EQ(first.info.version, http::version::http_1_1);
        EXPECT_EQ(first.info.attempts, 2u);
        EXPECT_EQ(server.over_h2, 1u);
        EXPECT_EQ(server.heads.size(), 1u);
        // It is remembered.
        EXPECT_EQ((co_await client.get(server.url()).full()).info.attempts, 1u);
        EXPECT_EQ(server.over_h2, 1u);
        EXPECT_EQ(client.statistics().retries, 0u);
        // Also when all connections are gone.
        co_await sleep_for(5min);
        EXPECT_EQ(client.statistics().connections, 0u);
        EXPECT_EQ((co_await client.get(server.url()).full()).info.attempts, 1u);
        EXPECT_EQ(server.over_h2, 1u);
    });
}

TEST(client_h2_fallback, takes_a_server_that_goes_away_for_http_1_at_its_word) {
    with_reluctant([](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream&) {
            c.goaway(0, h2_code::http_1_1_required);
        };
        const auto first = co_await client.post(server.url()).body("x").full();
        EXPECT_EQ(first.body, "old");
        EXPECT_EQ(first.info.attempts, 2u);
        EXPECT_EQ(server.over_h2, 1u);
    });
}

TEST(client_h2_fallback, is_learned_from_requests_that_cannot_be_repeated) {
    with_reluctant([](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream& r) {
            c.reset(r, h2_code::http_1_1_required);
        };
        server.response = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nold";
        const auto write = [](http::body_writer& out) -> task<> { co_await out.write("x"); };
        for (const bool known : {false, true}) {
            auto calling = client.post(server.url()).body(http::body::stream(write)).full();
            const auto r = co_await as_result(calling);
            EXPECT_EQ(r.has_value(), known);
            EXPECT_TRUE(!r || r->body == "old");
        }
        EXPECT_EQ(server.over_h2, 1u);
    });
}

TEST(client_h2_fallback, is_found_by_a_context_of_the_caller_as_well) {
    const auto calls = [](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream& r) {
            c.reset(r, h2_code::http_1_1_required);
        };
        for (const unsigned attempts : {2u, 1u}) {
            const auto r = co_await client.get(server.url()).full();
            EXPECT_EQ(r.info.version, http::version::http_1_1);
            EXPECT_EQ(r.info.attempts, attempts);
        }
        EXPECT_EQ(server.over_h2, 1u);
    };
    with_reluctant(calls, protocols{"h2", "http/1.1"});
    with_reluctant(calls, protocols{});
}

TEST(client_h2_fallback, fails_where_a_context_of_the_caller_offers_nothing_else) {
    const auto calls = [](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream& r) {
            c.reset(r, h2_code::http_1_1_required);
        };
        for (int i = 0; i != 2; ++i) {
            const auto r = co_await as_result(client.get(server.url()).full());
            EXPECT_FALSE(r);
            if (r) co_return;
            EXPECT_EQ(r.error(), std::errc::invalid_argument) << r.error();
            EXPECT_THAT(r.error().message(), HasSubstr("tls_context offers h2 alone"));
        }
    };
    with_reluctant(calls, protocols{"h2"});
}

TEST(client_h2_fallback, is_what_a_call_asks_for_whatever_the_context_of_the_caller_offers) {
    const auto calls = [](reluctant_server& server, http::client& client) -> task<> {
        server.on_end = [](h2_script_connection& c, h2_script_stream& r) { c.respond(r, "new"); };
        const auto plain = co_await client.get(server.url()).options("http_version=1.1").full();
        EXPECT_EQ(plain.info.version, http::version::http_1_1);
        const auto upgrade = co_await client.get(server.url()).header("Upgrade", "echo").full();
        EXPECT_EQ(upgrade.info.version, http::version::http_1_1);
        EXPECT_EQ(server.over_h2, 0u);
        const auto usual = co_await client.get(server.url()).full();
        EXPECT_EQ(usual.info.version, http::version::http_2);
    };
    with_reluctant(calls, protocols{"h2", "http/1.1"});
    with_reluctant(calls, protocols{});
}

TEST(client_h2_fallback, upgrades_over_http_1_where_streams_cannot_be) {
    with_reluctant([](reluctant_server& server, http::client& client) -> task<> {
        server.response =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n";
        unsigned asked = 0;
        server.on_head = [&](h2_script_connection& c, h2_script_stream& r) {
            ++asked;
            c.respond(r, "plain");
        };
        for (unsigned i = 1; i != 3; ++i) {
            auto asking = client.get(server.url()).upgrade("echo");
            auto response = co_await asking;
            EXPECT_EQ(response.status(), http::status::switching_protocols);
            EXPECT_EQ(response.info()->version, http::version::http_1_1);
            EXPECT_TRUE(response.detach().has_value());
            EXPECT_EQ(server.heads.size(), i);
            EXPECT_THAT(server.heads.back(), HasSubstr("\r\nUpgrade: echo\r\n"));
            EXPECT_THAT(server.heads.back(), HasSubstr("\r\nConnection: Upgrade\r\n"));
        }
        EXPECT_EQ(asked, 0u);
        EXPECT_EQ(server.over_h2, 1u);
        // Other calls still go over HTTP/2.
        EXPECT_EQ((co_await client.get(server.url()).full()).body, "plain");
        EXPECT_EQ(server.over_h2, 1u);
    });
}

}  // namespace
}  // namespace coracle::testing
