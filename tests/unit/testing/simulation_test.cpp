#include "support/sanitized.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/net/listener.hpp>
#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>

using namespace coracle;
using namespace coracle::testing;
using namespace std::chrono_literals;

namespace {

net::listener open_listener(loop& on, std::string_view at = "127.0.0.1:0") {
    auto l = net::listener::open(on, *net::address::parse(at));
    if (!l) throw_exception(l.error());
    return std::move(*l);
}

std::string counted_bytes(std::size_t n) {
    std::string s(n, '\0');
    for (std::size_t i = 0; i != n; ++i) s[i] = static_cast<char>(i * 131 + (i >> 8));
    return s;
}

/// A listener and two connected ends.
struct pair {
    net::listener listener;
    peer client;
    peer server;
};

task<pair> connected_pair(loop& on) {
    net::listener l = open_listener(on);
    peer client = co_await connect_peer(l.local());
    std::unique_ptr<net::byte_stream> server = co_await l.accept();
    co_return pair{std::move(l), std::move(client), peer(std::move(server))};
}

/// Runs `f(pair)` in a world of its own; gives the hash of what happened.
template <class F>
std::uint64_t with_pair(const simulation_options& o, F f) {
    simulation sim(o);
    auto body = [&]() -> task<> {
        pair p = co_await connected_pair(sim.loop());
        co_await f(sim, p);
    };
    sim.run(body);
    EXPECT_EQ(sim.backend().open_descriptors(), 0u) << sim.replay();
    return sim.trace();
}

simulation_options seeded(std::uint64_t seed) {
    simulation_options o;
    o.seed = seed;
    return o;
}

/// A listener that echoes one connection, and a client that sends through it.
std::uint64_t echo(std::uint64_t seed, const std::string& text) {
    return with_pair(seeded(seed), [&](simulation& sim, pair& p) -> task<> {
        spawn([&p]() -> task<> {
            for (;;) {
                auto bytes = co_await as_result(p.server.stream().receive());
                if (!bytes) break;
                co_await p.server.stream().send(bytes->view());
            }
            p.server.shutdown_output();
        });
        spawn([&]() -> task<> {
            co_await p.client.stream().send(text);
            p.client.shutdown_output();
        });
        const std::string back = co_await p.client.read_to_end();
        EXPECT_TRUE(back == text) << sim.replay() << " with " << back.size() << " bytes";
        EXPECT_EQ(p.client.ended(), ending::finished) << sim.replay();
    });
}

std::string failure_of(const simulation_options& o, task<> (*f)()) {
    simulation sim(o);
    try {
        sim.run(f);
    } catch (const simulation_failure& e) {
        return e.what();
    }
    return "no failure";
}

}  // namespace

TEST(simulation, lets_an_hour_pass_at_once) {
    simulation sim;
    const std::int64_t before = sim.loop().unix_time();
    const int value = sim.run([&]() -> task<int> {
        co_await sleep_for(1h);
        EXPECT_EQ(sim.loop().unix_time(), before + 3600);
        co_return 7;
    });
    EXPECT_EQ(value, 7);
    EXPECT_GE(sim.elapsed(), 1h);
    EXPECT_LT(sim.elapsed(), 1h + 1ms);
}

TEST(simulation, fires_timers_in_order) {
    simulation sim;
    std::string order;
    sim.run([&]() -> task<> {
        for (const int n : {3, 1, 2}) {
            spawn([&order, n]() -> task<> {
                co_await sleep_for(n * 1min);
                order += std::to_string(n);
            });
        }
        co_await sleep_for(1h);
    });
    EXPECT_EQ(order, "123");
}

TEST(simulation, runs_once) {
    simulation sim;
    const auto nothing = []() -> task<> { co_return; };
    sim.run(nothing);
    try {
        sim.run(nothing);
        ADD_FAILURE();
    } catch (const exception& e) {
        EXPECT_EQ(e.error().message(), "simulation a second run: Operation not supported");
    }
}

TEST(simulation, gives_what_the_task_throws) {
    simulation sim;
    EXPECT_THROW(sim.run([]() -> task<> {
        co_await sleep_for(1s);
        throw std::logic_error("as it is");
    }),
                 std::logic_error);
}

TEST(simulation, repeats_a_run_from_its_seed) {
    const std::string text = counted_bytes(5000);
    std::set<std::uint64_t> traces;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const std::uint64_t first = echo(seed, text);
        EXPECT_EQ(echo(seed, text), first) << "seed " << seed;
        traces.insert(first);
    }
    EXPECT_EQ(traces.size(), 20u);
}

TEST(simulation, sees_in_the_trace_what_was_sent) {
    EXPECT_NE(echo(1, "one text"), echo(1, "two text"));
}

TEST(simulation, draws_random_numbers_from_the_seed) {
    const auto draw = [](std::uint64_t seed) {
        simulation sim(seed);
        return sim.loop().random();
    };
    EXPECT_EQ(draw(5), draw(5));
    EXPECT_NE(draw(5), draw(6));
}

TEST(simulation, keeps_the_bytes_however_it_splits_and_merges_them) {
    const std::string text = counted_bytes(300'000);
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(50))) echo(seed, text);
}

TEST(simulation, splits_at_any_byte_and_merges_again) {
    std::set<std::size_t> sizes;
    for (const std::uint64_t seed : seeds(200)) {
        with_pair(seeded(seed), [&](simulation& sim, pair& p) -> task<> {
            co_await p.client.send("12345678");
            co_await p.client.send("90abcdef");
            if (sim.loop().random() % 2 == 0) co_await sleep_for(1s);
            buffer first = co_await p.server.stream().receive();
            sizes.insert(first.size());
        });
    }
    EXPECT_GE(sizes.size(), 10u);
    EXPECT_TRUE(sizes.contains(1) && sizes.contains(8) && sizes.contains(16));
}

TEST(simulation, sends_whole_pieces_when_it_shall_not_split) {
    simulation_options o;
    o.split = false;
    with_pair(o, [](simulation&, pair& p) -> task<> {
        co_await p.client.send(std::string(10'000, 'x'));
        buffer all = co_await p.server.stream().receive();
        EXPECT_EQ(all.size(), 10'000u);
    });
}

TEST(simulation, lets_a_sender_be_no_further_ahead_than_its_buffer) {
    simulation_options o;
    o.send_buffer = 1000;
    with_pair(o, [](simulation&, pair& p) -> task<> {
        const std::string text(5000, 'x');
        net::send sending = p.client.stream().send(text);
        auto wait = [&]() -> task<> {
            auto sent = co_await as_result(sending);
            if (!sent) throw_exception(sent.error());
        };
        auto stalled = co_await as_result(with_timeout(1min, wait));
        EXPECT_FALSE(stalled);
        EXPECT_EQ(sending.progress(), 1000);
    });
}

TEST(simulation, carries_on_in_one_direction_after_the_end_of_the_other) {
    for (const std::uint64_t seed : seeds(30)) {
        with_pair(seeded(seed), [](simulation&, pair& p) -> task<> {
            co_await p.client.send("question");
            p.client.shutdown_output();
            EXPECT_EQ(co_await p.server.read_to_end(), "question");
            co_await p.server.send("reply");
            p.server.close();
            EXPECT_EQ(co_await p.client.read_to_end(), "reply");
            EXPECT_EQ(p.client.ended(), ending::finished);
        });
    }
}

// Linux keeps it, other systems do not.
TEST(simulation, keeps_or_discards_what_was_not_read_at_a_reset) {
    const auto left_of = [](simulation_options o) {
        std::string left;
        with_pair(o, [&left](simulation&, pair& p) -> task<> {
            co_await p.client.send("perhaps lost");
            co_await sleep_for(1s);
            p.client.close(true);
            co_await sleep_for(1s);
            left = co_await p.server.read_to_end();
            EXPECT_EQ(p.server.ended(), ending::reset);
            auto sent = co_await as_result(p.server.stream().send("x"));
            EXPECT_FALSE(sent);
        });
        return left;
    };
    std::map<std::string, int> times;
    for (const std::uint64_t seed : seeds(50)) ++times[left_of(seeded(seed))];
    EXPECT_EQ(times.size(), 2U);
    EXPECT_GT(times["perhaps lost"], times[""]);
    simulation_options whole;
    whole.split = false;
    for (const std::uint64_t seed : seeds(20)) {
        whole.seed = seed;
        EXPECT_EQ(left_of(whole), "perhaps lost");
    }
}

// Where bytes before it were discarded, no end is told.
TEST(simulation, ends_no_stream_in_order_that_lost_bytes) {
    std::map<std::string, int> times;
    for (const std::uint64_t seed : seeds(50)) {
        with_pair(seeded(seed), [&times](simulation&, pair& p) -> task<> {
            co_await p.client.send("perhaps lost");
            p.client.close();
            co_await sleep_for(1s);
            co_await p.server.send("too late");
            co_await sleep_for(1s);
            const std::string left = co_await p.server.read_to_end();
            const bool whole = left == "perhaps lost";
            EXPECT_EQ(p.server.ended(), whole ? ending::finished : ending::reset) << left;
            ++times[left];
        });
    }
    EXPECT_EQ(times.size(), 2U);
}

// Bytes that its sender still had to send are discarded with it.
TEST(simulation, lets_a_reset_overtake_what_is_under_way) {
    bool all = false;
    bool part = false;
    for (const std::uint64_t seed : seeds(200)) {
        simulation_options o = seeded(seed);
        o.latency_min = 1ms;
        o.latency_max = 100ms;
        with_pair(o, [&](simulation&, pair& p) -> task<> {
            const std::string text = counted_bytes(20'000);
            co_await p.client.send(text);
            p.client.close(true);
            const std::string came = co_await p.server.read_to_end();
            EXPECT_EQ(p.server.ended(), ending::reset);
            EXPECT_TRUE(text.starts_with(came));
            all = all || came.size() == text.size();
            part = part || (!came.empty() && came.size() < text.size());
        });
    }
    EXPECT_TRUE(all);
    EXPECT_TRUE(part);
}

TEST(simulation, resets_when_a_socket_is_closed_with_bytes_unread) {
    with_pair(seeded(1), [](simulation&, pair& p) -> task<> {
        co_await p.client.send("unread");
        co_await sleep_for(1s);
        p.server.close();
        EXPECT_EQ(co_await p.client.read_to_end(), "");
        EXPECT_EQ(p.client.ended(), ending::reset);
    });
}

TEST(simulation, resets_when_bytes_come_to_a_closed_socket) {
    with_pair(seeded(1), [](simulation&, pair& p) -> task<> {
        p.server.close();
        EXPECT_EQ(co_await p.client.read_to_end(), "");
        EXPECT_EQ(p.client.ended(), ending::finished);
        co_await p.client.send("too late");
        co_await sleep_for(1s);
        auto sent = co_await as_result(p.client.stream().send("x"));
        EXPECT_FALSE(sent);
        if (!sent) {
            EXPECT_EQ(sent.error(), std::errc::broken_pipe);
        }
    });
}

TEST(simulation, tells_of_a_reset_each_time) {
    const auto receives_first = [](simulation&, pair& p) -> task<> {
        p.client.close(true);
        co_await sleep_for(1s);
        for (int i = 0; i != 2; ++i) {
            auto received = co_await as_result(p.server.stream().receive());
            EXPECT_TRUE(!received && received.error() == std::errc::connection_reset);
        }
        auto sent = co_await as_result(p.server.stream().send("x"));
        EXPECT_TRUE(!sent && sent.error() == std::errc::connection_reset);
    };
    const auto sends_first = [](simulation&, pair& p) -> task<> {
        p.client.close(true);
        co_await sleep_for(1s);
        EXPECT_EQ(p.server.stream().try_send("x"), -ECONNRESET);
        EXPECT_EQ(p.server.stream().try_send("x"), -ECONNRESET);
        auto received = co_await as_result(p.server.stream().receive());
        EXPECT_TRUE(!received && received.error() == std::errc::connection_reset);
    };
    simulation_options o;
    o.split = false;
    with_pair(o, receives_first);
    with_pair(o, sends_first);
}

TEST(simulation, says_nothing_of_a_reset_behind_the_end) {
    with_pair(seeded(1), [](simulation&, pair& p) -> task<> {
        p.server.close();
        co_await sleep_for(1s);
        co_await p.client.send("too late");
        co_await sleep_for(1s);
        auto received = co_await as_result(p.client.stream().receive());
        EXPECT_TRUE(!received && received.error() == errc::end_of_stream);
        auto sent = co_await as_result(p.client.stream().send("x"));
        EXPECT_TRUE(!sent && sent.error() == std::errc::broken_pipe);
    });
}

TEST(simulation, takes_a_minimum_above_the_default_maximum_for_both) {
    simulation_options o;
    o.latency_min = 50ms;
    o.file_delay_min = 70ms;
    simulation sim(o);
    sim.run([&]() -> task<> {
        time_point before = sim.now();
        net::listener l = open_listener(sim.loop());
        co_await net::connect(l.local());
        EXPECT_GE(sim.now() - before, 100ms);
        EXPECT_LT(sim.now() - before, 101ms);
        before = sim.now();
        co_await fs::make_directory("/d");
        EXPECT_LT(sim.now() - before, 141ms);
    });
    EXPECT_LT(sim.elapsed(), 1s);
}

TEST(simulation, refuses_where_nobody_listens) {
    constexpr std::pair<const char*, std::errc> rows[] = {
        {"127.0.0.1:1", std::errc::connection_refused},
        {"[::1]:1", std::errc::connection_refused},
        {"unix:@nobody", std::errc::connection_refused},
        {"unix:/nowhere", std::errc::no_such_file_or_directory},
        {"unix:/left", std::errc::connection_refused}};
    for (const auto& [where, why] : rows) {
        simulation sim;
        sim.run([&]() -> task<> {
            // Its file stays behind.
            open_listener(sim.loop(), "unix:/left").close();
            auto s = co_await as_result(net::connect(*net::address::parse(where)));
            EXPECT_TRUE(!s && s.error() == why) << where;
        });
    }
}

TEST(simulation, takes_a_wildcard_for_the_loopback) {
    constexpr std::pair<const char*, const char*> rows[] = {{"127.0.0.1:80", "0.0.0.0:80"},
                                                            {"[::1]:80", "[::]:80"}};
    for (const auto& [there, to] : rows) {
        simulation sim;
        sim.run([&]() -> task<> {
            net::listener l = open_listener(sim.loop(), there);
            auto s = co_await as_result(net::connect(*net::address::parse(to)));
            auto taken = co_await as_result(l.accept());
            EXPECT_TRUE(s && taken) << to;
        });
    }
}

TEST(simulation, listens_on_any_address) {
    for (const char* where : {"127.0.0.1:80", "[::1]:443", "unix:/some/path", "10.1.2.3:0"}) {
        simulation sim;
        sim.run([&]() -> task<> {
            net::listener l = open_listener(sim.loop(), where);
            EXPECT_TRUE(l.local().family() == net::family::unix_path || l.local().port() != 0);
            auto again = net::listener::open(sim.loop(), l.local());
            EXPECT_FALSE(again);
            peer client = co_await connect_peer(l.local());
            auto server = co_await l.accept();
            EXPECT_EQ(server->peer().family(), l.local().family());
        });
    }
}

TEST(simulation, listens_on_every_address_of_a_wildcard) {
    simulation sim;
    sim.run([&]() -> task<> {
        net::listener l = open_listener(sim.loop(), "0.0.0.0:80");
        peer client = co_await connect_peer(*net::address::parse("192.168.1.1:80"));
        co_await l.accept();
    });
}

TEST(simulation, lets_nobody_listen_where_another_hears_already) {
    struct attempt {
        const char* first;
        const char* second;
        bool succeeds;
    };
    for (const attempt& a : {attempt{"0.0.0.0:80", "127.0.0.1:80", false},
                             {"127.0.0.1:80", "0.0.0.0:80", false},
                             attempt{"[::]:80", "127.0.0.1:80", false},
                             {"0.0.0.0:80", "[::]:80", false},
                             attempt{"127.0.0.1:80", "127.0.0.2:80", true},
                             {"0.0.0.0:80", "127.0.0.1:81", true},
                             attempt{"0.0.0.0:80", "[::1]:80", true},
                             {"unix:/80", "0.0.0.0:80", true}}) {
        simulation sim;
        const net::listener one = open_listener(sim.loop(), a.first);
        const auto two = net::listener::open(sim.loop(), *net::address::parse(a.second));
        EXPECT_EQ(two.has_value(), a.succeeds) << a.first << ' ' << a.second;
        if (!two) {
            EXPECT_EQ(two.error(), std::errc::address_in_use);
        }
    }
    simulation sim;
    socket_options shared;
    shared.reuse_port = true;
    const auto at = [](const char* text) { return *net::address::parse(text); };
    const auto all = net::listener::open(sim.loop(), at("0.0.0.0:80"), shared);
    EXPECT_TRUE(net::listener::open(sim.loop(), at("127.0.0.1:80"), shared));
    socket_options v6;
    v6.v6_only = true;
    EXPECT_TRUE(net::listener::open(sim.loop(), at("[::]:80"), v6));
}

TEST(simulation, runs_out_of_descriptors) {
    simulation_options o;
    o.descriptors = 2;
    simulation sim(o);
    sim.run([&]() -> task<> {
        net::listener l = open_listener(sim.loop());
        peer client = co_await connect_peer(l.local());
        auto accepted = co_await as_result(l.accept());
        EXPECT_FALSE(accepted);
        if (!accepted) {
            EXPECT_EQ(accepted.error(), std::errc::too_many_files_open);
        }
        sim.backend().limit_descriptors(3);
        accepted = co_await as_result(l.accept());
        EXPECT_TRUE(accepted);
    });
}

TEST(simulation, tells_of_a_peer_that_has_gone) {
    struct watcher : hangup_watch {
        watcher()
            : hangup_watch{[](hangup_watch& w) noexcept { static_cast<watcher&>(w).done.set(); }} {}
        event done;
    };
    for (const bool reset : {false, true}) {
        with_pair(seeded(1), [reset](simulation&, pair& p) -> task<> {
            watcher w;
            EXPECT_TRUE(p.server.stream().watch_hangup(&w));
            p.client.close(reset);
            co_await w.done.wait();
            EXPECT_FALSE(p.server.stream().watch_hangup(&w));
        });
    }
}

// A test that runs for no seed would pass.
TEST(simulation, has_the_seeds_that_the_environment_names) {
    const char* const given = std::getenv("CORACLE_SEEDS");
    const std::string kept = given != nullptr ? given : "";
    const auto count = [](const char* text) {
        ::setenv("CORACLE_SEEDS", text, 1);
        return seeds(7).size();
    };
    if (std::getenv("CORACLE_SEED") != nullptr) GTEST_SKIP() << "it goes before CORACLE_SEEDS";
    EXPECT_EQ(count("3"), 3U);
    EXPECT_EQ(count(""), 7U);
    for (const char* bad : {"x", "3x", "-1", "0", "99999999999999999999"}) {
        EXPECT_THROW(count(bad), exception) << bad;
    }
    ::setenv("CORACLE_SEEDS", kept.c_str(), 1);
}

TEST(simulation, sends_a_part_of_a_file) {
    std::FILE* f = std::tmpfile();
    ASSERT_NE(f, nullptr);
    const std::string text = counted_bytes(200'000);
    ASSERT_EQ(std::fwrite(text.data(), 1, text.size(), f), text.size());
    std::fflush(f);
    for (const std::uint64_t seed : seeds(10)) {
        with_pair(seeded(seed), [&](simulation& sim, pair& p) -> task<> {
            spawn([&p, f]() -> task<> {
                co_await p.server.stream().send_file(::fileno(f), 100, 150'000);
                p.server.shutdown_output();
            });
            const std::string got = co_await p.client.read_to_end();
            EXPECT_TRUE(got == text.substr(100, 150'000)) << sim.replay();
            auto beyond = co_await as_result(p.client.stream().send_file(::fileno(f), 200'000, 1));
            EXPECT_FALSE(beyond);
        });
    }
    std::fclose(f);
}

// ---- cancelling ---------------------------------------------------------------------------------

TEST(simulation, cancels_a_receive_that_waits_and_loses_nothing) {
    for (const std::uint64_t seed : seeds(30)) {
        with_pair(seeded(seed), [](simulation&, pair& p) -> task<> {
            auto reading = [&]() -> task<std::string> { return p.server.read_until("!"); };
            EXPECT_FALSE(co_await as_result(with_timeout(1s, reading)));
            co_await p.client.send("late!");
            EXPECT_EQ(co_await p.server.read_until("!"), "late!");
        });
    }
}

TEST(simulation, cancels_an_accept_and_a_connect_that_wait) {
    for (const std::uint64_t seed : seeds(30)) {
        simulation_options o = seeded(seed);
        o.latency_min = o.latency_max = 10ms;
        simulation sim(o);
        sim.run([&]() -> task<> {
            net::listener l = open_listener(sim.loop());
            auto accepting = [&]() -> task<> { co_await l.accept(); };
            EXPECT_FALSE(co_await as_result(with_timeout(1s, accepting)));
            auto connecting = [&]() -> task<> { co_await net::connect(l.local()); };
            // Before the call arrives, while the response is under way, and after.
            EXPECT_FALSE(co_await as_result(with_timeout(5ms, connecting)));
            EXPECT_FALSE(co_await as_result(with_timeout(15ms, connecting)));
            EXPECT_TRUE(co_await as_result(with_timeout(25ms, connecting)));
            peer good = co_await connect_peer(l.local());
            co_await good.send("here");
            for (;;) {
                auto s = co_await as_result(l.accept());
                if (!s) continue;
                peer p(std::move(*s));
                if (co_await as_result(p.read_until("here"))) break;
            }
        });
        EXPECT_EQ(sim.backend().open_descriptors(), 0u) << sim.replay();
    }
}

TEST(simulation, cancels_a_send_that_waits) {
    for (const std::uint64_t seed : seeds(30)) {
        with_pair(seeded(seed), [](simulation&, pair& p) -> task<> {
            auto sending = [&]() -> task<> { return p.client.send(std::string(100'000, 'x')); };
            EXPECT_FALSE(co_await as_result(with_timeout(1s, sending)));
        });
    }
}

TEST(simulation, cancels_what_is_held_back_although_it_could_complete) {
    for (const std::uint64_t seed : seeds(100)) {
        with_pair(seeded(seed), [](simulation&, pair& p) -> task<> {
            co_await p.client.send("there");
            co_await sleep_for(1s);
            std::string got;
            auto reading = [&]() -> task<> {
                while (got.size() < 5) {
                    buffer b = co_await p.server.stream().receive();
                    got += b.view();
                }
            };
            // No time at all: either it was there at once, or it is cancelled while held back.
            co_await as_result(with_timeout(0s, reading));
            co_await reading();
            EXPECT_EQ(got, "there");
        });
    }
}

// ---- what makes a run fail ----------------------------------------------------------------------

TEST(simulation, reports_a_deadlock_with_the_seed) {
    EXPECT_EQ(failure_of(seeded(42),
                         []() -> task<> {
                             event never;
                             co_await never.wait();
                         }),
              "seed 42: deadlock: nothing is left that could happen, and the run has not ended; "
              "replay with CORACLE_SEED=42");
}

TEST(simulation, unwinds_everything_in_a_deadlock) {
    simulation sim;
    std::optional<pair> p;  // outlives both tasks
    int unwound = 0;
    struct guard {
        int& count;
        ~guard() { ++count; }
    };
    EXPECT_THROW(sim.run([&]() -> task<> {
        pair connected = co_await connected_pair(sim.loop());
        p.emplace(std::move(connected));
        spawn([&]() -> task<> {
            const guard g{unwound};
            co_await p->client.read_to_end();
        });
        const guard g{unwound};
        co_await p->server.read_to_end();
    }),
                 simulation_failure);
    EXPECT_EQ(unwound, 2);
    p.reset();
    EXPECT_EQ(sim.backend().open_descriptors(), 0u);
}

TEST(simulation, reports_a_run_without_end) {
    simulation_options o;
    o.max_turns = 1000;
    EXPECT_NE(failure_of(o,
                         []() -> task<> {
                             for (;;) co_await yield();
                         })
                  .find("bound on turns"),
              std::string::npos);
    o.max_time = 1h;
    EXPECT_NE(
        failure_of(o, []() -> task<> { co_await sleep_for(24h); }).find("bound on virtual time"),
        std::string::npos);
}

TEST(simulation, may_have_no_bound_on_virtual_time) {
    simulation_options o;
    o.max_time = duration::max();
    simulation sim(o);
    sim.run([]() -> task<> { co_await sleep_for(24h * 365); });
}

TEST(simulation, reports_two_operations_in_one_direction) {
    simulation sim;
    EXPECT_THROW(sim.run([&]() -> task<> {
        pair p = co_await connected_pair(sim.loop());
        auto both = [&p](task_group& g) -> task<> {
            for (int i = 0; i != 2; ++i) {
                g.spawn([&p]() -> task<> { co_await as_result(p.server.stream().receive()); });
            }
            co_return;
        };
        co_await with_task_group(both);
    }),
                 simulation_failure);
}

TEST(simulation, has_no_foreign_descriptors) {
    simulation sim;
    foreign_operation op(opcode::readable, nullptr);
    EXPECT_TRUE(sim.backend().submit(op));
    EXPECT_EQ(op.result, -ENOTSUP);
}

TEST(simulation, begins_at_a_time_that_the_clock_holds) {
    for (const std::int64_t bad : {std::int64_t{9'000'000'001}, INT64_MAX, INT64_MIN}) {
        simulation_options o;
        o.unix_time = bad;
        EXPECT_THROW(simulation{o}, exception) << bad;
    }
    simulation_options o;
    o.unix_time = 9'000'000'000;
    simulation sim(o);
    sim.run([]() -> task<> {
        EXPECT_EQ(loop::current()->unix_time(), 9'000'000'000);
        co_return;
    });
}
