// The client against Debian's redis-server: replies, credentials, TLS, a server that goes, comes
// back and stands still, and a peer that is none.

#include "integration/redis/redis_world.hpp"
#include "support/allocation_count.hpp"
#include "support/test_ca.hpp"

#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/tls/error.hpp>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace {

using namespace redis_world;
using coracle::testing::script;
using coracle::testing::scripted_peer;
using redis::reply_kind;

class redis_client : public redis_test {};

redis::client_options quick() {
    redis::client_options o;
    o.first_delay = 5ms;
    o.longest_delay = 20ms;
    return o;
}

std::string text_of(const std::expected<redis::reply, error>& said) {
    return said ? std::string(said->text()) : said.error().message();
}

/// A script that lets the client in.
script greeting() {
    script s;
    s.read_until("PING\r\n").send("+PONG\r\n");
    return s;
}

}  // namespace

TEST_F(redis_client, goes_on_wherever_memory_fails) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "no allocation fails in this build";
    }
    redis_server server;
    bool failed = true;
    for (std::size_t n = 1; failed && !HasFailure(); ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        block_on([&]() -> task<> {
            redis::client c(server.url(), quick());
            coracle::testing::fail_allocation(n);
            try {
                const auto set = co_await ask(c, "SET", "boat", "coracle");
                EXPECT_TRUE(set || set.error() != coracle::errc::shutting_down);
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): ends that one
            }
            failed = !coracle::testing::allocation_will_fail();
            coracle::testing::fail_allocation(0);
            const bool serves = co_await until_it_serves(c);
            EXPECT_TRUE(serves);
        });
    }
}

TEST_F(redis_client, gives_replies_of_every_kind) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client c(server.url());
        const redis::reply stored = co_await c.command("SET", "boat", "coracle");
        EXPECT_EQ(stored.kind(), reply_kind::status);
        EXPECT_EQ(stored.text(), "OK");
        const redis::reply got = co_await c.command("GET", "boat");
        EXPECT_EQ(got.kind(), reply_kind::string);
        EXPECT_EQ(got.text(), "coracle");
        const redis::reply none = co_await c.command("GET", "ship");
        EXPECT_TRUE(none.is_nil());
        const redis::reply count = co_await c.command("INCRBY", "n", std::to_string(42));
        EXPECT_EQ(count.integer(), 42);
        const std::string binary("a\r\n\0b", 5);
        co_await c.command("RPUSH", "list", binary, "");
        const redis::reply list = co_await c.command("LRANGE", "list", "0", "-1");
        EXPECT_EQ(list.elements().size(), 2U);
        EXPECT_EQ(list.elements()[0].text(), binary);
        const std::vector<std::string> owned = {"EVAL", "return {1,{2,{3}}}", "0"};
        const redis::reply nested = co_await c.command(owned);
        EXPECT_EQ(nested.elements()[1].elements()[1].elements()[0].integer(), 3);
        const std::string large(3'000'000, 'x');
        co_await c.command("SET", "large", large);
        const redis::reply back = co_await c.command("GET", "large");
        EXPECT_EQ(back.text(), large);
        EXPECT_EQ(c.counters().connections, 1U);
        EXPECT_EQ(c.counters().commands, 9U);
        EXPECT_EQ(c.counters().failed, 0U);
    });
}

TEST_F(redis_client, makes_errors_of_error_replies_and_goes_on) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client c(server.url());
        co_await c.command("SET", "text", "x");
        auto wrong = co_await ask(c, "LPUSH", "text", "y");
        EXPECT_EQ(wrong.error(), make_error_code(redis::errc::wrong_type));
        auto unknown = co_await ask(c, "FROBNICATE");
        EXPECT_EQ(unknown.error(), make_error_code(redis::errc::error_reply));
        EXPECT_NE(unknown.error().message().find("unknown command"), std::string::npos);
        auto script = co_await ask(c, "EVALSHA", "0123456789012345678901234567890123456789", "0");
        EXPECT_EQ(script.error(), make_error_code(redis::errc::no_script));
        auto shared = co_await ask(c, "MULTI");
        EXPECT_EQ(shared.error(), make_error_code(redis::errc::shared_connection));
        const std::vector<std::string> no_parts;
        auto nothing = co_await ask(c, no_parts);
        EXPECT_EQ(nothing.error(), std::errc::invalid_argument);
        bool thrown = false;
        try {
            co_await c.command("INCR", "text");
        } catch (const exception& e) {
            thrown = e.error() == make_error_code(redis::errc::error_reply);
        }
        EXPECT_TRUE(thrown);
        auto fine = co_await ask(c, "GET", "text");
        EXPECT_EQ(fine->text(), "x");
        EXPECT_EQ(c.counters().connections, 1U);
    });
}

TEST_F(redis_client, gives_each_of_many_tasks_its_own_reply_over_one_connection) {
    redis_server server;
    int right = 0;
    block_on([&]() -> task<> {
        redis::client c(server.url());
        const auto body = [&](task_group& g) -> task<> {
            for (int i = 0; i < 500; ++i) {
                g.spawn([&c, &right, i]() -> task<> {
                    const std::string text = "text " + std::to_string(i);
                    auto said = co_await ask(c, "ECHO", text);
                    if (said && said->text() == text) ++right;
                });
            }
            co_return;
        };
        co_await with_task_group(body);
        EXPECT_EQ(c.counters().connections, 1U);
    });
    EXPECT_EQ(right, 500);
}

TEST_F(redis_client, has_a_connection_on_each_loop) {
    redis_server server;
    redis::client c(server.url());
    std::atomic<int> right = 0;
    runtime_options two;
    two.loops = 2;
    runtime rt(two);
    rt.run([&](loop&) -> task<> {
        auto said = co_await ask(c, "INCR", "n");
        if (said) ++right;
    });
    EXPECT_EQ(right, 2);
    EXPECT_EQ(c.counters().connections, 2U);
}

TEST_F(redis_client, logs_in_by_password_and_by_user) {
    redis_server server({"--requirepass", "se cret"});
    block_on([&]() -> task<> {
        redis::client by_url("unix://:se%20cret@" + server.socket() + "?db=3");
        co_await by_url.command("ACL", "SETUSER", "ada", "on", ">pw", "~boat*", "&*", "+@all");
        co_await by_url.command("SET", "boat", "here");
        redis::client_options as_ada = quick();
        as_ada.user = "ada";
        as_ada.password = secret("pw");
        redis::client ada(server.url() + "?db=3", as_ada);
        auto got = co_await ask(ada, "GET", "boat");
        EXPECT_EQ(got->text(), "here");
        auto refused = co_await ask(ada, "GET", "ship");
        EXPECT_EQ(refused.error(), make_error_code(redis::errc::no_permission));
        co_await by_url.command("ACL", "SETUSER", "bob", "on", "nopass", "~*", "&*", "+@all");
        redis::client_options as_bob = quick();
        as_bob.user = "bob";
        redis::client bob(server.url(), as_bob);
        auto who = co_await ask(bob, "ACL", "WHOAMI");
        EXPECT_TRUE(who) << who.error();
        if (who) {
            EXPECT_EQ(who->text(), "bob");
        }
        redis::client other_database("unix://:se%20cret@" + server.socket());
        auto none = co_await ask(other_database, "GET", "boat");
        EXPECT_TRUE(none->is_nil());

        redis::client anonymous(server.url(), quick());
        auto unknown = co_await ask(anonymous, "GET", "boat");
        EXPECT_EQ(unknown.error(), make_error_code(redis::errc::not_authenticated));
        redis::client wrong("unix://:wrong@" + server.socket(), quick());
        auto mistaken = co_await ask(wrong, "GET", "boat");
        EXPECT_EQ(mistaken.error(), make_error_code(redis::errc::not_authenticated));
        EXPECT_EQ(mistaken.error().message().find("wrong@"), std::string::npos);
    });
}

TEST_F(redis_client, speaks_tls) {
    const coracle::testing::test_ca ca;
    const auto identity = ca.issue({.names = {"localhost", "127.0.0.1"}});
    coracle::testing::temporary_directory files;
    const std::string certificate = files.write("cert.pem", identity.certificate);
    const std::string key = files.write("key.pem", identity.key.reveal());
    const std::string authority = files.write("ca.pem", ca.pem());
    const coracle::testing::held_port held;
    const std::string port = held.number();
    redis_server server({"--tls-port", port, "--bind", "127.0.0.1", "--tls-cert-file", certificate,
                         "--tls-key-file", key, "--tls-ca-cert-file", authority,
                         "--tls-auth-clients", "no", "--requirepass", "pw"});
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.tls.authorities = ca.pem();
        o.tls.system_authorities = false;
        redis::client c("rediss://:pw@127.0.0.1:" + port, o);
        auto got = co_await ask(c, "ECHO", "over TLS");
        EXPECT_TRUE(got) << got.error().message();
        EXPECT_EQ(text_of(got), "over TLS");
        redis::client distrusting("rediss://:pw@127.0.0.1:" + port, quick());
        auto refused = co_await ask(distrusting, "PING");
        EXPECT_EQ(refused.error().code().category(), tls::category()) << refused.error().message();
        redis::client in_clear("redis://:pw@127.0.0.1:" + port, quick());
        auto broken = co_await ask(in_clear, "PING");
        EXPECT_FALSE(broken);
    });
}

TEST_F(redis_client, fails_at_once_while_the_server_is_away_and_finds_it_again) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.command_timeout = 60s;
        redis::client c(server.url(), o);
        co_await c.command("SET", "a", "1");
        co_await stop(server);
        auto lost = co_await eventually([&] { return c.counters().lost == 1; });
        EXPECT_TRUE(lost);
        const time_point before = loop::current()->now();
        auto first = co_await ask(c, "GET", "a");
        EXPECT_FALSE(first);
        // A server that ends may still accept a connection, and reset it, before or behind what we
        // send.
        auto second = co_await ask(c, "GET", "a");
        for (int i = 0; i != 100 && !second && second.error().phase() != phase::connect; ++i) {
            co_await sleep_for(5ms);
            second = co_await ask(c, "GET", "a");
        }
        EXPECT_FALSE(second);
        EXPECT_TRUE(second.error().safe_to_retry());
        EXPECT_EQ(second.error().phase(), phase::connect) << second.error().message();
        EXPECT_LT(loop::current()->now() - before, 30s);
        co_await start(server);
        const bool serves = co_await until_it_serves(c);
        EXPECT_TRUE(serves);
        EXPECT_EQ(c.counters().connections, 2U);
    });
}

TEST_F(redis_client, lets_commands_wait_for_a_server_that_is_away_where_it_should) {
    redis_server server;
    server.stop();
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.wait_while_away = true;
        o.command_timeout = 30s;
        redis::client c(server.url(), o);
        const auto body = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                auto said = co_await ask(c, "ECHO", "late");
                EXPECT_TRUE(said) << said.error().message();
            });
            co_await sleep_for(30ms);
            co_await start(server);
        };
        co_await with_task_group(body);
        redis::client_options short_limit = quick();
        short_limit.wait_while_away = true;
        short_limit.command_timeout = 50ms;
        co_await stop(server);
        redis::client d(server.url(), short_limit);
        auto never = co_await ask(d, "PING");
        EXPECT_EQ(never.error(), std::errc::timed_out);
        EXPECT_TRUE(never.error().safe_to_retry());
    });
}

TEST_F(redis_client, gives_up_a_server_that_stands_still) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.command_timeout = 500ms;
        o.connect_timeout = 500ms;
        redis::client c(server.url(), o);
        EXPECT_TRUE(co_await until_it_serves(c));
        const std::uint64_t before = c.counters().lost;
        co_await freeze(server);
        auto late = co_await ask(c, "SET", "a", "1");
        EXPECT_EQ(late.error(), std::errc::timed_out);
        EXPECT_FALSE(late.error().safe_to_retry());
        auto lost = co_await eventually([&] { return c.counters().lost == before + 1; });
        EXPECT_TRUE(lost);
        // The kernel accepts for a process that is stopped: PING is what finds out.
        const auto fails_at_once = [&]() -> task<bool> {
            auto said = co_await ask(c, "GET", "a");
            co_return !said && said.error().phase() == phase::connect;
        };
        bool fails = false;
        for (int i = 0; i < 100 && !fails; ++i) fails = co_await fails_at_once();
        EXPECT_TRUE(fails);
        server.thaw();
        const bool serves = co_await until_it_serves(c);
        EXPECT_TRUE(serves);
    });
}

TEST_F(redis_client, bounds_the_commands_without_a_reply) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.queued = 4;
        o.queued_bytes = 1000;
        o.command_timeout = 20s;
        redis::client c(server.url(), o);
        EXPECT_TRUE(co_await until_it_serves(c));
        co_await freeze(server);
        const auto body = [&](task_group& g) -> task<> {
            for (int i = 0; i < 4; ++i) {
                g.spawn([&]() -> task<> {
                    auto said = co_await ask(c, "PING");
                    EXPECT_TRUE(said) << said.error().message();
                });
            }
            auto refused = co_await ask(c, "PING");
            EXPECT_EQ(refused.error(), coracle::errc::limit_exceeded);
            EXPECT_NE(refused.error().message().find("client_options::queued"), std::string::npos);
            EXPECT_TRUE(refused.error().safe_to_retry());
            server.thaw();
        };
        co_await with_task_group(body);
        const std::string large(2000, 'x');
        auto heavy = co_await ask(c, "ECHO", large);
        EXPECT_EQ(heavy.error(), coracle::errc::limit_exceeded);
        EXPECT_NE(heavy.error().message().find("client_options::queued_bytes"), std::string::npos);
        EXPECT_FALSE(heavy.error().safe_to_retry()) << "it will never fit";
        const std::string fits(900, 'x');
        auto light = co_await ask(c, "ECHO", fits);
        EXPECT_TRUE(light);
        EXPECT_EQ(c.counters().refused, 2U);
    });
}

TEST_F(redis_client, drops_the_reply_of_a_command_that_was_cancelled) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client c(server.url(), quick());
        co_await c.command("SET", "a", "mine");
        for (int i = 0; i < 20; ++i) {
            co_await freeze(server);
            auto cancelled = with_timeout(1ms, c.command("ECHO", "not mine"));
            auto ended = co_await as_result(cancelled);
            EXPECT_EQ(ended.error(), std::errc::timed_out);
            server.thaw();
            auto said = co_await ask(c, "GET", "a");
            EXPECT_TRUE(said);
            EXPECT_EQ(text_of(said), "mine");
        }
        EXPECT_EQ(c.counters().connections, 1U);
    });
}

TEST_F(redis_client, may_have_no_timeouts) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.connect_timeout = o.command_timeout = 0s;
        redis::client c(server.url(), o);
        EXPECT_EQ(text_of(co_await ask(c, "PING")), "PONG");
        EXPECT_EQ(text_of(co_await ask(c, "ECHO", "again")), "again");
    });
}

TEST_F(redis_client, drains) {
    redis_server server;
    block_on([&]() -> task<> {
        redis::client c(server.url(), quick());
        int replies = 0;
        const auto body = [&](task_group& g) -> task<> {
            for (int i = 0; i < 10; ++i) {
                g.spawn([&]() -> task<> {
                    auto said = co_await ask(c, "PING");
                    if (said) ++replies;
                });
            }
            co_await c.drain(10s);
        };
        co_await with_task_group(body);
        EXPECT_EQ(replies, 10);
        auto refused = co_await ask(c, "PING");
        EXPECT_EQ(refused.error(), coracle::errc::shutting_down);
        redis::client d(server.url(), quick());
        co_await d.command("PING");
        co_await freeze(server);
        const auto cut = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                auto said = co_await ask(d, "PING");
                EXPECT_EQ(said.error(), coracle::errc::shutting_down);
            });
            auto draining = d.drain(20ms);
            auto drained = co_await as_result(draining);
            EXPECT_EQ(drained.error(), std::errc::timed_out);
        };
        co_await with_task_group(cut);
        server.thaw();
        redis::client e(server.url(), quick());
        co_await e.command("PING");
        co_await freeze(server);
        const auto cancelled = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                auto said = co_await ask(e, "PING");
                EXPECT_EQ(said.error(), coracle::errc::shutting_down);
            });
            auto draining = with_timeout(20ms, e.drain(10s));
            auto drained = co_await as_result(draining);
            EXPECT_EQ(drained.error(), std::errc::timed_out);
        };
        co_await with_task_group(cancelled);
        server.thaw();
    });
}

TEST_F(redis_client, takes_commands_of_tasks_that_clean_up_after_the_main_one) {
    redis_server server;
    redis::client c(server.url(), quick());
    bool said = false;
    block_on([&]() -> task<> {
        spawn([&]() -> task<> {
            co_await as_result(forever());
            const auto ping = [&]() -> task<> { said = (co_await ask(c, "PING")).has_value(); };
            co_await shielded(10s, ping);
        });
        co_await c.command("PING");
    });
    EXPECT_TRUE(said);
}

TEST_F(redis_client, may_be_destroyed_while_commands_are_under_way) {
    redis_server server;
    for (const bool elsewhere : {false, true}) {
        block_on([&]() -> task<> {
            auto c = std::make_unique<redis::client>(server.url(), quick());
            co_await c->command("PING");
            co_await freeze(server);
            const auto body = [&](task_group& g) -> task<> {
                g.spawn([&]() -> task<> {
                    auto said = co_await ask(*c, "PING");
                    EXPECT_EQ(said.error(), coracle::errc::shutting_down);
                });
                if (elsewhere) {
                    std::thread([&] { c.reset(); }).join();
                } else {
                    c.reset();
                }
                co_return;
            };
            co_await with_task_group(body);
            server.thaw();
        });
    }
}

TEST(redis_client_url, that_is_none_fails_each_command) {
    block_on([]() -> task<> {
        redis::client c("http://127.0.0.1");
        auto said = co_await ask(c, "PING");
        EXPECT_EQ(said.error(), std::errc::invalid_argument);
    });
}

TEST(redis_client_hostile, peers_are_cut_and_named) {
    struct row {
        const char* bytes;
        std::error_code expected;
    };
    const row rows[] = {
        {"HTTP/1.1 200 OK\r\n\r\n", make_error_code(redis::errc::malformed_reply)},
        {"*2147483647\r\n", make_error_code(coracle::errc::limit_exceeded)},
        {"$1048576\r\nxxxxxxxxxx", make_error_code(coracle::errc::end_of_stream)},
        {"", make_error_code(coracle::errc::end_of_stream)},
    };
    for (const row& r : rows) {
        scripted_peer peer(greeting().read_until("GET").send(r.bytes).close());
        const std::string url = "redis://127.0.0.1:" + std::to_string(peer.port());
        block_on([&]() -> task<> {
            redis::client c(url, quick());
            auto said = co_await ask(c, "GET", "a");
            EXPECT_FALSE(said);
            if (said) co_return;
            EXPECT_EQ(said.error(), r.expected) << r.bytes << said.error().message();
            EXPECT_FALSE(said.error().safe_to_retry());
        });
    }
}

TEST(redis_client_hostile, reply_beyond_a_limit_fails_its_command_alone) {
    scripted_peer peer(greeting().read_until("second").send("*2147483647\r\n").close());
    const std::string url = "redis://127.0.0.1:" + std::to_string(peer.port());
    block_on([&]() -> task<> {
        redis::client c(url, quick());
        auto both = when_all(ask(c, "GET", "first"), ask(c, "GET", "second"));
        const auto [first, second] = co_await std::move(both);
        EXPECT_EQ(first.error(), coracle::errc::limit_exceeded);
        EXPECT_EQ(second.error(), std::errc::connection_aborted);
        EXPECT_FALSE(second.error().safe_to_retry());
    });
}

TEST(redis_client_hostile, peer_that_sends_more_than_a_reply_may_have_is_cut) {
    scripted_peer peer(
        greeting().read_until("GET").send("$900000000\r\n").send_endlessly("xxxxxxxx"));
    const std::string url = "redis://127.0.0.1:" + std::to_string(peer.port());
    block_on([&]() -> task<> {
        redis::client_options o = quick();
        o.reply.bytes = 100'000;
        redis::client c(url, o);
        auto said = co_await ask(c, "GET", "a");
        EXPECT_EQ(said.error(), coracle::errc::limit_exceeded);
    });
    EXPECT_TRUE(peer.wait_for_end(0));
}

TEST(redis_client_hostile, peer_that_replies_to_no_command_is_cut) {
    scripted_peer peer(greeting().send("+OK\r\n+OK\r\n").read_to_end());
    const std::string url = "redis://127.0.0.1:" + std::to_string(peer.port());
    block_on([&]() -> task<> {
        redis::client c(url, quick());
        // It may come before the command or be taken for its reply; the second is one too many.
        static_cast<void>(co_await ask(c, "GET", "a"));
        auto lost = co_await eventually([&] { return c.counters().lost >= 1; });
        EXPECT_TRUE(lost);
    });
}
