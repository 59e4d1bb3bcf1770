#include <coracle/connect/connect.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>
#include <coracle/tls/context.hpp>
#include <coracle/tls/stream.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using namespace std::string_literals;
using coracle::connect::proxy;
using coracle::connect::proxy_errc;
using coracle::connect::proxy_kind;
using coracle::testing::peer;
using coracle::testing::simulation;

namespace {

/// One thing that a scripted proxy does.
struct turn {
    enum class what : unsigned char { hear, say, end, reset, keep, again } does;
    std::string text;
};

turn hear(std::string text) {
    return {turn::what::hear, std::move(text)};
}
turn say(std::string text) {
    return {turn::what::say, std::move(text)};
}
/// Closes the connection in good order, or not, or keeps it open until the other side closes.
const turn end{turn::what::end, {}};
const turn reset{turn::what::reset, {}};
const turn keep{turn::what::keep, {}};
/// Closes this connection, and waits for the next.
const turn again{turn::what::again, {}};

using script = std::vector<turn>;

task<peer> next_caller(net::listener& l, tls::server_context* c) {
    std::unique_ptr<net::byte_stream> s = co_await l.accept();
    if (c != nullptr) {
        auto handshake = tls::accept(*c, std::move(s));
        s = co_await std::move(handshake);
    }
    co_return peer(std::move(s));
}

/// Plays the proxy. What it hears must be what the script says, byte for byte.
task<> play(net::listener& l, const script& all, tls::server_context* c) {
    peer caller = co_await next_caller(l, c);
    for (const turn& t : all) {
        if (t.does == turn::what::hear) {
            const std::string heard = co_await caller.read_exactly(t.text.size());
            EXPECT_EQ(heard, t.text);
        } else if (t.does == turn::what::say) {
            co_await caller.send(t.text);
        } else if (t.does == turn::what::again) {
            caller = co_await next_caller(l, c);
        } else if (t.does == turn::what::keep) {
            static_cast<void>(co_await caller.read_to_end());
        } else {
            caller.close(t.does == turn::what::reset);
        }
    }
}

net::address at(std::string_view text) {
    return net::address::parse(text).value();
}

/// A world with a proxy "relay" at 192.0.2.1:1080 and names for targets.
struct proxied_world {
    explicit proxied_world(std::uint64_t seed) : proxied_world({.seed = seed}) {}
    explicit proxied_world(const coracle::testing::simulation_options& options) : world(options) {
        world.backend().add_name("relay", {at("192.0.2.1:0")});
        world.backend().add_name("boats", {at("[2001:db8::7]:0"), at("198.51.100.7:0")});
    }

    /// Connects to boats:443 while the proxy plays its script. Says what came of it: "open" and
    /// all that follows, or the error.
    std::string ask(const script& plays, connect::options o, tls::server_context* c = nullptr) {
        const std::string told = world.run([&]() -> task<std::string> {
            auto l = net::listener::open(*loop::current(), at("192.0.2.1:1080")).value();
            net::resolver names(*loop::current());
            std::string outcome;
            const auto block = [&](task_group& group) -> task<> {
                group.spawn([&] { return play(l, plays, c); }, "proxy");
                outcome = co_await use(names, o);
            };
            co_await with_task_group(block);
            co_return outcome;
        });
        EXPECT_EQ(world.backend().open_descriptors(), 0u) << world.replay();
        return told;
    }

    std::string ask(const script& plays, proxy p) {
        connect::options o;
        o.proxy(std::move(p)).record(&times);
        return ask(plays, o);
    }

    task<std::string> use(net::resolver& names, connect::options o) {
        auto asked = plain ? connect::to_proxy(names, o) : connect::to(names, "boats", 443, o);
        auto opened = co_await as_result(std::move(asked));
        if (!opened) {
            why = opened.error();
            co_return why.message();
        }
        EXPECT_EQ((*opened)->peer(), at("192.0.2.1:1080"));
        peer target(*std::move(opened));
        const auto sent = co_await as_result(target.send("ping"));
        EXPECT_TRUE(sent);
        const std::string heard = co_await target.read_to_end();
        co_return "open " + heard;
    }

    simulation world;
    connect::timings times;
    bool plain = false;
    error why;
};

proxy relay(proxy_kind k) {
    return {k, "relay", 1080};
}

proxy relay_with_password(proxy_kind k) {
    proxy p = relay(k);
    p.credentials("joe", "secret");
    return p;
}

const std::string connect_head = "CONNECT boats:443 HTTP/1.1\r\nHost: boats:443\r\n\r\n";
const std::string by_name = "\x05\x01\0\x03\x05"s + "boats\x01\xbb";
const std::string by_v6 =
    "\x05\x01\0\x04\x20\x01\x0d\xb8"s + std::string(11, '\0') + "\x07\x01\xbb";
const std::string by_v4 = "\x05\x01\0\x01\xc6\x33\x64\x07\x01\xbb"s;
const std::string granted = "\x05\0\0\x01\0\0\0\0\0\0"s;

/// A proxy that opens, passes on "ping" and says "pong", the first bytes of which come at once.
script opens(script dialogue, const std::string& last) {
    dialogue.push_back(say(last + "po"));
    dialogue.push_back(hear("ping"));
    dialogue.push_back(say("ng"));
    dialogue.push_back(end);
    return dialogue;
}

}  // namespace

TEST(through_proxy, opens_a_tunnel_by_every_kind_of_proxy) {
    const std::string ok = "HTTP/1.1 200 OK\r\n\r\n";
    struct row {
        proxy p;
        script plays;
    };
    const std::string authorized =
        "CONNECT boats:443 HTTP/1.1\r\nHost: boats:443\r\n"
        "Proxy-Authorization: Basic am9lOnNlY3JldA==\r\n\r\n";
    const row rows[] = {
        {relay(proxy_kind::http), opens({hear(connect_head)}, ok)},
        {relay_with_password(proxy_kind::http), opens({hear(authorized)}, ok)},
        {relay(proxy_kind::socks4),
         opens({hear("\x04\x01\x01\xbb\xc6\x33\x64\x07\0"s)}, "\0\x5a\0\0\0\0\0\0"s)},
        {relay(proxy_kind::socks4a),
         opens({hear("\x04\x01\x01\xbb\0\0\0\x01\0boats\0"s)}, "\0\x5a\0\0\0\0\0\0"s)},
        {relay(proxy_kind::socks5),
         opens({hear("\x05\x01\0"s), say("\x05\0"s), hear(by_v6)}, granted)},
        {relay(proxy_kind::socks5h),
         opens({hear("\x05\x01\0"s), say("\x05\0"s), hear(by_name)}, granted)},
        {relay_with_password(proxy_kind::socks5h),
         opens({hear("\x05\x02\0\x02"s), say("\x05\x02"s), hear("\x01\x03joe\x06secret"),
                say("\x01\0"s), hear(by_name)},
               granted)},
    };
    for (const std::uint64_t seed : coracle::testing::seeds(10)) {
        for (const row& r : rows) {
            proxied_world w(seed);
            EXPECT_EQ(w.ask(r.plays, r.p), "open pong") << r.p.to_string() << w.world.replay();
            EXPECT_EQ(w.times.peer, at("192.0.2.1:1080"));
            EXPECT_GT(w.times.resolve, 0us);
            EXPECT_GT(w.times.connect, w.times.resolve);
            EXPECT_GT(w.times.proxy, w.times.connect);
            EXPECT_EQ(w.times.tls_to_proxy, 0us);
        }
    }
}

TEST(through_proxy, encrypts_the_way_to_a_proxy_of_https) {
    auto own = tls::self_signed({"relay"});
    tls::server_options so;
    so.certificates = {own};
    tls::server_context server(so);
    tls::client_options co;
    co.authorities = own.certificate;
    co.system_authorities = false;
    // A certificate that was made now is not good in the simulated year.
    const std::int64_t now =
        block_on([]() -> task<std::int64_t> { co_return loop::current()->unix_time(); });
    for (const bool plain : {false, true}) {
        proxied_world w({.unix_time = now});
        w.plain = plain;
        connect::options o;
        proxy p = relay(proxy_kind::https);
        // Nobody else keeps it.
        p.tls(std::make_shared<tls::client_context>(co));
        o.proxy(std::move(p)).record(&w.times);
        const script tunnel = opens({hear(connect_head)}, "HTTP/1.1 200 OK\r\n\r\n");
        const script direct = {hear("ping"), say("pong"), end};
        EXPECT_EQ(w.ask(plain ? direct : tunnel, o, &server), "open pong");
        EXPECT_GT(w.times.tls_to_proxy, w.times.connect);
        EXPECT_EQ(w.times.proxy > w.times.tls_to_proxy, !plain);
    }
}

TEST(through_proxy, says_that_the_handshake_with_the_proxy_failed) {
    proxied_world w(1);
    tls::client_options co;
    co.system_authorities = false;
    proxy p = relay(proxy_kind::https);
    p.tls(std::make_shared<tls::client_context>(co));
    const script plays = {say("HTTP/1.1 400 Bad Request\r\n\r\n"), keep};
    const std::string told = w.ask(plays, p);
    EXPECT_EQ(w.why.phase(), phase::tls) << told;
    EXPECT_EQ(w.why.operation(), "tls to proxy");
}

TEST(through_proxy, tries_the_next_address_when_the_proxy_cannot_reach_one) {
    for (const char reply : {'\x01', '\x03', '\x04', '\x05', '\x06', '\x08'}) {
        proxied_world w(1);
        const script plays =
            opens({hear("\x05\x01\0"s), say("\x05\0"s), hear(by_v6), say("\x05"s + reply), again,
                   hear("\x05\x01\0"s), say("\x05\0"s), hear(by_v4)},
                  granted);
        EXPECT_EQ(w.ask(plays, relay(proxy_kind::socks5)), "open pong");
    }
    proxied_world w(1);
    const script plays = {hear("\x05\x01\0"s), say("\x05\0"s), hear(by_v6), say("\x05\x02"), keep};
    EXPECT_EQ(w.ask(plays, relay(proxy_kind::socks5)),
              "proxy socks5://relay:1080 to boats:443: the proxy's rules do not allow it, phase "
              "proxy, safe to retry");
}

TEST(through_proxy, says_what_the_proxy_refuses) {
    proxied_world w(1);
    EXPECT_EQ(w.ask({hear(connect_head), say("HTTP/1.1 503 No route\r\n\r\n"), keep},
                    relay(proxy_kind::http)),
              "proxy http://relay:1080 to boats:443 (503 No route): the proxy refused, phase "
              "proxy, safe to retry");
    proxied_world x(1);
    EXPECT_EQ(
        x.ask({hear(connect_head),
               say("HTTP/1.1 407 Who?\r\nProxy-Authenticate: Basic realm=\"r\"\r\n\r\n"), keep},
              relay(proxy_kind::http)),
        "proxy http://relay:1080 to boats:443 (407 Who?; it takes Basic): the proxy wants "
        "credentials, phase proxy, safe to retry");
}

TEST(through_proxy, fails_when_the_proxy_ends_at_any_byte) {
    const std::string response = "HTTP/1.1 200 OK\r\n\r\n";
    for (std::size_t cut = 0; cut != response.size(); ++cut) {
        for (const turn& last : {end, reset}) {
            proxied_world w(cut + 1);
            w.ask({hear(connect_head), say(response.substr(0, cut)), last},
                  relay(proxy_kind::http));
            EXPECT_EQ(w.why.phase(), phase::proxy) << cut;
            EXPECT_TRUE(w.why == errc::end_of_stream || w.why == std::errc::connection_reset)
                << cut;
            EXPECT_EQ(w.why.operation(), "proxy");
        }
    }
}

TEST(through_proxy, gives_up_on_a_proxy_that_drips_or_never_ends) {
    proxied_world w(1);
    EXPECT_EQ(
        w.ask({hear(connect_head), say("HTTP/1.1 200 OK\r\nX: " + std::string(40'000, 'x')), keep},
              relay(proxy_kind::http)),
        "proxy http://relay:1080 to boats:443 (a head over 32768 bytes "
        "(proxy::most_head_bytes)): a limit was exceeded, phase proxy, safe to retry");
    proxied_world x(1);
    connect::options o;
    o.proxy(relay(proxy_kind::socks5h)).timeout(2s);
    EXPECT_EQ(x.ask({hear("\x05\x01\0"s), say("\x05"), keep}, o),
              "proxy socks5h://relay:1080 to boats:443: Connection timed out, phase proxy, safe to "
              "retry");
    EXPECT_GE(x.world.elapsed(), 2s);
    EXPECT_LT(x.world.elapsed(), 3s);
}

TEST(through_proxy, tells_the_name_of_the_proxy_from_that_of_the_target) {
    simulation world(1);
    world.backend().add_name("relay", {at("192.0.2.1:0")});
    world.run([]() -> task<> {
        net::resolver names(*loop::current());
        connect::options o;
        o.proxy(proxy(proxy_kind::http, "nowhere", 1));
        auto s = co_await as_result(connect::to(names, "boats", 80, o));
        EXPECT_FALSE(s);
        EXPECT_EQ(s.error().operation(), "resolve proxy");
        EXPECT_EQ(s.error().phase(), phase::proxy);
        EXPECT_EQ(s.error().subject(), "nowhere");
        o.proxy(relay(proxy_kind::socks5));
        s = co_await as_result(connect::to(names, "nowhere", 80, o));
        EXPECT_FALSE(s);
        EXPECT_EQ(s.error().operation(), "resolve");
        EXPECT_EQ(s.error().phase(), phase::resolve);
        // Nobody listens.
        o.proxy(relay(proxy_kind::socks5h));
        s = co_await as_result(connect::to(names, "boats", 80, o));
        EXPECT_FALSE(s);
        EXPECT_EQ(s.error().operation(), "connect proxy");
        EXPECT_EQ(s.error().phase(), phase::connect);
        EXPECT_EQ(s.error(), std::errc::connection_refused);
        // Before anything is connected.
        const std::string too_long(256, 'n');
        s = co_await as_result(connect::to(names, too_long, 80, o));
        EXPECT_FALSE(s);
        EXPECT_EQ(s.error(), std::errc::invalid_argument);
        s = co_await as_result(connect::to_proxy(names, connect::options()));
        EXPECT_FALSE(s);
        EXPECT_EQ(s.error(), std::errc::invalid_argument);
    });
}
