#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/peer.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;

scripted_peer_options at_port_80() {
    scripted_peer_options o;
    o.listen = "10.0.0.1:80";
    return o;
}

/// A scripted peer in a world of its own, and one that talks to it.
class scripted_peer_in_a_simulation : public ::testing::Test {
protected:
    /// Plays `s` while `f(peer)` runs.
    template <class F>
    void play(script s, F f, const scripted_peer_options& o = at_port_80()) {
        play_all({std::move(s)}, f, o);
    }
    template <class F>
    void play_all(std::vector<script> scripts, F f, const scripted_peer_options& o = at_port_80()) {
        for (const std::uint64_t seed : seeds(5)) {
            simulation world(seed);
            SCOPED_TRACE(world.replay());
            scripted_peer peer(world.loop(), scripts, o);
            auto main = [&]() -> task<> {
                co_await f(peer);
                peer.stop();
            };
            world.run(main);
            EXPECT_EQ(world.backend().open_descriptors(), 0U);
            if (HasFailure()) return;
        }
    }
};

task<testing::peer> call(const scripted_peer& p) {
    return connect_peer(p.address());
}

task<> until_closed(const scripted_peer& p, std::size_t index = 0) {
    while (p.connections() <= index || !p.record(index).closed) co_await p.changed();
}

time_point now() {
    return loop::current()->now();
}

TEST_F(scripted_peer_in_a_simulation, reads_a_head_responds_and_records_what_came) {
    play(script().read_head().respond("hello", "X-A: 1\r\n"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("GET / HTTP/1.1\r\nHost: x\r\n\r\nrest");
        const std::string all = co_await c.read_to_end();
        EXPECT_EQ(all, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX-A: 1\r\n\r\nhello");
        EXPECT_EQ(c.ended(), ending::finished);
        c.close();
        co_await until_closed(p);
        const connection_record r = p.record();
        EXPECT_EQ(r.received, "GET / HTTP/1.1\r\nHost: x\r\n\r\nrest");
        EXPECT_EQ(r.bytes_received, r.received.size());
        EXPECT_EQ(r.bytes_sent, all.size());
        EXPECT_EQ(r.steps, 2U);
        EXPECT_EQ(r.peer_ended, ending::finished);
        EXPECT_EQ(r.failure, "");
    });
}

TEST_F(scripted_peer_in_a_simulation, claims_a_length_that_is_not_the_bodys) {
    play(script().respond_claiming(99, "short").cut(), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        const std::string all = co_await c.read_to_end();
        EXPECT_EQ(all, "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nshort");
    });
}

TEST_F(scripted_peer_in_a_simulation, reads_exactly_and_up_to_a_text_and_to_the_end) {
    play(script().read_exactly(3).send("a").read_until("++").send("b").read_to_end().send("c"),
         [](scripted_peer& p) -> task<> {
             testing::peer c = co_await call(p);
             co_await c.send("123");
             EXPECT_EQ(co_await c.read_exactly(1), "a");
             co_await c.send("4+56++");
             EXPECT_EQ(co_await c.read_exactly(1), "b");
             co_await c.send("789");
             c.shutdown_output();
             EXPECT_EQ(co_await c.read_to_end(), "c");
             EXPECT_EQ(p.record().received, "1234+56++789");
             EXPECT_EQ(p.record().failure, "");
         });
}

TEST_F(scripted_peer_in_a_simulation, goes_on_where_the_expected_bytes_come) {
    play(script().expect("ping").send("pong").expect("more"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("ping");
        EXPECT_EQ(co_await c.read_exactly(4), "pong");
        co_await c.send("more");
        EXPECT_EQ(co_await c.read_to_end(), "");
        EXPECT_EQ(p.record().failure, "");
        EXPECT_EQ(p.record().steps, 3U);
    });
}

TEST_F(scripted_peer_in_a_simulation, resets_where_other_bytes_come_and_says_which) {
    play(script().expect("ping").send("pong"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("pint");
        EXPECT_EQ(co_await c.read_to_end(), "");
        EXPECT_EQ(c.ended(), ending::reset);
        co_await until_closed(p);
        EXPECT_TRUE(p.record().failure.starts_with("expected \"ping\", got \""))
            << p.record().failure;
        EXPECT_EQ(p.record().steps, 0U);
    });
}

TEST_F(scripted_peer_in_a_simulation, says_that_the_stream_ended_within_what_it_reads) {
    play(script().read_exactly(10), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("123");
        c.shutdown_output();
        co_await until_closed(p);
        EXPECT_EQ(p.record().failure, "read_exactly: the stream ended 7 bytes early");
    });
    play(script().read_head(), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("GET");
        c.shutdown_output();
        co_await until_closed(p);
        EXPECT_EQ(p.record().failure, "expected \"\r\n\r\n\", got \"GET\"");
    });
}

TEST_F(scripted_peer_in_a_simulation, looks_for_a_text_in_as_much_as_it_keeps) {
    scripted_peer_options o = at_port_80();
    o.kept = 100;
    play(
        script().read_until("!").send("found"),
        [](scripted_peer& p) -> task<> {
            testing::peer c = co_await call(p);
            co_await c.send(std::string(99, 'a') + '!');
            EXPECT_EQ(co_await c.read_to_end(), "found");
            testing::peer longer = co_await call(p);
            co_await longer.send(std::string(101, 'a'));
            EXPECT_EQ(co_await longer.read_to_end(), "");
            co_await until_closed(p, 1);
            EXPECT_EQ(p.record(1).failure, "read_until: not in the first 100 bytes");
            EXPECT_EQ(p.record(1).received, std::string(100, 'a'));
            EXPECT_EQ(p.record(1).bytes_received, 101U);
        },
        o);
}

TEST_F(scripted_peer_in_a_simulation, sends_slowly) {
    play(script().send_slowly("abcdefg", 3, 10s), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        EXPECT_EQ(co_await c.read_exactly(3), "abc");
        const time_point first = now();
        EXPECT_EQ(co_await c.read_exactly(3), "def");
        EXPECT_GE(now() - first, 9900ms);
        EXPECT_EQ(co_await c.read_exactly(1), "g");
        EXPECT_GE(now() - first, 19900ms);
        co_await c.expect_close();
        EXPECT_LT(now() - first, 21s);
    });
}

TEST_F(scripted_peer_in_a_simulation, sends_endlessly_up_to_a_bound) {
    play(script().send_endlessly("abc", 100'000).cut(), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        const std::string all = co_await c.read_to_end();
        EXPECT_EQ(all.size(), 100'000U);
        EXPECT_EQ(all.substr(49'998, 6), "abcabc");
        EXPECT_EQ(p.record().bytes_sent, 100'000U);
    });
}

TEST_F(scripted_peer_in_a_simulation, sends_endlessly_until_the_other_side_is_gone) {
    play(script().send_endlessly("x").respond("never sent"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.read_exactly(300'000);
        c.close(true);
        co_await until_closed(p);
        EXPECT_EQ(p.record().peer_ended, ending::reset);
        EXPECT_EQ(p.record().steps, 0U);
        EXPECT_GE(p.record().bytes_sent, 300'000U);
        EXPECT_LT(p.record().bytes_sent, 1'000'000U);
    });
}

TEST_F(scripted_peer_in_a_simulation, stalls_until_the_gate_is_open_and_sees_a_hangup) {
    for (const bool leaves : {false, true}) {
        simulation world(1);
        const gate g;
        scripted_peer peer(world.loop(), script().read_head().stall(g).respond("late"),
                           at_port_80());
        auto main = [&]() -> task<> {
            testing::peer c = co_await call(peer);
            co_await c.send("GET\r\n\r\n");
            while (peer.connections() == 0 || !peer.record().stalled) co_await peer.changed();
            co_await sleep_for(1min);
            EXPECT_TRUE(peer.record().stalled);
            EXPECT_FALSE(peer.record().hung_up);
            if (leaves) {
                c.close();
                while (!peer.record().hung_up) co_await peer.changed();
            }
            g.open();
            if (!leaves) {
                const std::string all = co_await c.read_to_end();
                EXPECT_TRUE(all.ends_with("late"));
                c.close();
            }
            co_await until_closed(peer);
            EXPECT_FALSE(peer.record().stalled);
            EXPECT_EQ(peer.record().hung_up, leaves);
        };
        world.run(main);
    }
}

TEST_F(scripted_peer_in_a_simulation, pauses) {
    play(
        script().pause(1h).send("x"),
        [](scripted_peer& p) -> task<> {
            testing::peer c = co_await call(p);
            const time_point then = now();
            co_await c.read_exactly(1);
            EXPECT_GE(now() - then, 59min);
            EXPECT_LE(now() - then, 61min);
        },
        [] {
            scripted_peer_options o = at_port_80();
            o.limit = 2h;
            return o;
        }());
}

TEST_F(scripted_peer_in_a_simulation, cuts_a_script_at_its_limit_and_says_so) {
    scripted_peer_options o = at_port_80();
    o.limit = 30s;
    for (const script& endless : {script().stall(), script().read_head(), script().pause(1h),
                                  script().send_endlessly("x").read_to_end()}) {
        play(
            endless,
            [](scripted_peer& p) -> task<> {
                const time_point then = now();
                testing::peer c = co_await call(p);
                co_await until_closed(p);
                EXPECT_GE(now() - then, 29s);
                EXPECT_LE(now() - then, 31s);
                EXPECT_EQ(p.record().failure,
                          "its script took longer than scripted_peer_options::limit");
                EXPECT_EQ(p.record().peer_ended, std::nullopt);
            },
            o);
    }
}

TEST_F(scripted_peer_in_a_simulation, ends_its_side_and_goes_on_reading) {
    play(script().send("bye").shutdown_output().read_until("!"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        EXPECT_EQ(co_await c.read_to_end(), "bye");
        co_await sleep_for(5s);
        EXPECT_FALSE(p.record().closed);
        co_await c.send("still here!");
        c.shutdown_output();
        co_await until_closed(p);
        EXPECT_EQ(p.record().received, "still here!");
    });
}

TEST_F(scripted_peer_in_a_simulation, resets) {
    play(script().read_head().reset().send("not sent"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        co_await c.send("GET\r\n\r\n");
        EXPECT_EQ(co_await c.read_to_end(), "");
        EXPECT_EQ(c.ended(), ending::reset);
    });
}

TEST_F(scripted_peer_in_a_simulation, does_its_steps_again) {
    play(script().read_head().send("one\n").again(2).send("two\n"), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        for (int i = 0; i != 3; ++i) {
            co_await c.send("GET\r\n\r\n");
            EXPECT_EQ(co_await c.read_until("\n"), "one\n");
        }
        EXPECT_EQ(co_await c.read_to_end(), "two\n");
        EXPECT_EQ(p.record().steps, 7U);
    });
    play(script().read_head().send("one\n").again(), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        for (int i = 0; i != 20; ++i) {
            co_await c.send("GET\r\n\r\n");
            EXPECT_EQ(co_await c.read_until("\n"), "one\n");
        }
        c.close();
        co_await until_closed(p);
        EXPECT_EQ(p.record().failure, "");
        EXPECT_EQ(p.record().peer_ended, ending::finished);
    });
}

TEST_F(scripted_peer_in_a_simulation, does_steps_again_that_were_done_again) {
    play(script().send("A").again(2).send("B").again(1), [](scripted_peer& p) -> task<> {
        testing::peer c = co_await call(p);
        EXPECT_EQ(co_await c.read_to_end(), "AAABAAAB");
    });
}

TEST_F(scripted_peer_in_a_simulation, plays_the_scripts_in_order_and_the_last_one_again) {
    play_all({script().send("1"), script().send("2")}, [](scripted_peer& p) -> task<> {
        for (const char* const wanted : {"1", "2", "2"}) {
            testing::peer c = co_await call(p);
            EXPECT_EQ(co_await c.read_to_end(), wanted);
        }
        EXPECT_EQ(p.connections(), 3U);
    });
}

TEST_F(scripted_peer_in_a_simulation, takes_a_connection_late_or_never) {
    play_all({script().accept_after(10s).send("1"), script().never_accept()},
             [](scripted_peer& p) -> task<> {
                 const time_point then = now();
                 testing::peer c = co_await call(p);
                 EXPECT_LT(now() - then, 1s);
                 EXPECT_EQ(co_await c.read_to_end(), "1");
                 EXPECT_GE(now() - then, 9900ms);
                 testing::peer waits = co_await call(p);
                 co_await sleep_for(1h);
                 EXPECT_EQ(p.connections(), 1U);
             });
}

TEST_F(scripted_peer_in_a_simulation, takes_as_many_connections_as_it_may) {
    scripted_peer_options o = at_port_80();
    o.connections = 2;
    play(
        script().send("x"),
        [](scripted_peer& p) -> task<> {
            for (int i = 0; i != 2; ++i) {
                testing::peer c = co_await call(p);
                EXPECT_EQ(co_await c.read_to_end(), "x");
            }
            const auto third = co_await as_result(call(p));
            co_await sleep_for(1min);
            EXPECT_EQ(p.connections(), 2U);
        },
        o);
}

}  // namespace
}  // namespace coracle::testing
