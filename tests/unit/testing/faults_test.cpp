// Faults in a simulated world, and their record with the connection that they struck.

#include "unit/testing/simulated_pair.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

using namespace simulated;

namespace {

struct outcome {
    std::string got;     ///< by the client, of what it sent to an echo
    error client_error;  ///< of the first of its operations that failed
    error connect_error;
    fault_set faults;
    duration took{};
};

task<> echo_one(net::listener& l) {
    for (;;) {
        auto s = co_await as_result(l.accept());
        if (!s) {
            if (s.error() == std::errc::operation_canceled) co_return;
            co_await sleep_for(1ms);
            continue;
        }
        for (;;) {
            auto bytes = co_await as_result((*s)->receive());
            if (!bytes) break;
            auto sent = co_await as_result((*s)->send(bytes->view()));
            if (!sent) break;
        }
        (*s)->close();
    }
}

/// Sends `text` through an echo in a world of its own, and waits at most ten minutes.
outcome send_through(const simulation_options& o, const std::string& text) {
    simulation sim(o);
    outcome out;
    // Outlives the tasks that accept.
    std::optional<net::listener> l(open_listener(sim.loop()));
    auto main = [&]() -> task<> {
        spawn([&]() { return echo_one(*l); });
        auto s = co_await as_result(net::connect(l->local()));
        if (!s) {
            out.connect_error = s.error();
            co_return;
        }
        const net::address local = (*s)->local().value();
        auto talk = [&]() -> task<> {
            auto write = [&](task_group& g) -> task<> {
                g.spawn([&]() -> task<> {
                    auto sent = co_await as_result((*s)->send(text));
                    if (!sent && !out.client_error.code()) out.client_error = sent.error();
                });
                while (out.got.size() < text.size()) {
                    auto bytes = co_await as_result((*s)->receive());
                    if (!bytes) {
                        if (!out.client_error.code()) out.client_error = bytes.error();
                        break;
                    }
                    out.got += bytes->view();
                }
                g.cancel();
            };
            co_await with_task_group(write);
        };
        const auto ended = co_await as_result(with_timeout(10min, talk));
        if (!ended) out.client_error = ended.error();
        out.faults = sim.backend().faults_on(local);
        out.took = sim.elapsed();
        (*s)->close();
        co_await sleep_for(1s);
    };
    sim.run(main);
    l.reset();
    EXPECT_EQ(sim.backend().open_descriptors(), 0u) << sim.replay();
    return out;
}

const std::string& text() {
    static const std::string bytes = counted_bytes(100'000);
    return bytes;
}

/// Runs seeds with one fault on; gives on how many it was met with. Nothing is lost without.
template <class Check>
std::size_t count_of(fault which, std::uint32_t fault_options::* rate, Check check) {
    std::size_t met = 0;
    for (const std::uint64_t seed : seeds(60)) {
        simulation_options o = seeded(seed);
        o.faults.*rate = 1;
        const outcome out = send_through(o, text());
        EXPECT_TRUE(text().starts_with(out.got)) << "seed " << seed;
        if (out.faults.contains(which)) {
            ++met;
            check(out);
        } else {
            EXPECT_EQ(out.got.size(), text().size()) << "seed " << seed;
        }
    }
    return met;
}

/// Returns true if all seeds are run, so that a test can demand how many show something.
bool runs_all() {
    return seeds(2).size() == 2;
}

}  // namespace

TEST(simulated_faults, are_none_unless_they_are_asked_for) {
    for (const std::uint64_t seed : seeds(20)) {
        const outcome out = send_through(seeded(seed), text());
        EXPECT_TRUE(out.faults.empty());
        EXPECT_TRUE(out.got == text());
        EXPECT_LT(out.took, 1s);
    }
}

TEST(simulated_faults, reset_a_connection_at_any_moment) {
    std::size_t at_once = 0;
    std::size_t later = 0;
    const std::size_t met = count_of(fault::reset, &fault_options::resets, [&](const outcome& o) {
        if (o.got.size() == text().size()) return;
        EXPECT_TRUE(o.client_error == std::errc::connection_reset) << o.client_error;
        ++(o.got.empty() ? at_once : later);
    });
    if (!runs_all()) return;
    EXPECT_GE(met, 20u);
    EXPECT_GE(at_once, 3u);
    EXPECT_GE(later, 1u);
}

TEST(simulated_faults, close_half_of_a_connection) {
    std::size_t ends = 0;
    const auto met =
        count_of(fault::half_close, &fault_options::half_closes, [&](const outcome& o) {
            if (o.client_error == errc::end_of_stream) ++ends;
        });
    if (!runs_all()) return;
    EXPECT_GE(met, 20u);
    EXPECT_GE(ends, 5u);
}

/// A connection with `o`, both ends of which `f(client, server)` has, or nothing where there is
/// none.
template <class F>
void with_both_ends(const simulation_options& o, F f) {
    simulation sim(o);
    SCOPED_TRACE(sim.replay());
    sim.run([&]() -> task<> {
        net::listener l = open_listener(sim.loop());
        auto client = co_await as_result(net::connect(l.local()));
        if (!client) co_return;
        auto server = co_await as_result(l.accept());
        if (!server) co_return;
        co_await f(**client, **server);
    });
}

TEST(simulated_faults, lose_what_is_sent_behind_a_half_close_and_nothing_of_the_other_half) {
    int lost = 0;
    for (const std::uint64_t seed : seeds(40)) {
        simulation_options o = seeded(seed);
        o.faults.half_closes = 1;
        with_both_ends(o, [&](net::socket& a, net::socket& b) -> task<> {
            // Longer than the latest moment of such a fault.
            const auto sends = [](net::socket& s) -> task<> {
                for (int i = 0; i != 200; ++i) {
                    const auto sent = co_await as_result(s.send("x"));
                    EXPECT_TRUE(sent) << "nobody is told";
                    co_await sleep_for(100ms);
                }
            };
            std::size_t got[2] = {};
            bool ended[2] = {};
            const auto reads = [&](net::socket& s, int which) -> task<> {
                // Also behind the end: nothing may come there any more.
                const auto all = [&]() -> task<> {
                    for (;;) {
                        auto bytes = co_await as_result(s.receive());
                        if (bytes) {
                            EXPECT_FALSE(ended[which]) << "something came behind the end";
                            got[which] += bytes->size();
                        } else {
                            if (bytes.error() == errc::end_of_stream) ended[which] = true;
                            co_await sleep_for(100ms);
                        }
                    }
                };
                co_await as_result(with_timeout(1min, all));
            };
            co_await when_all(sends(a), sends(b), reads(a, 0), reads(b, 1));
            if (!ended[0] && !ended[1]) co_return;
            EXPECT_NE(ended[0], ended[1]) << "one half is left";
            EXPECT_EQ(got[ended[0] ? 1 : 0], 200U);
            if (got[ended[0] ? 0 : 1] < 200) ++lost;
        });
    }
    if (runs_all()) {
        EXPECT_GE(lost, 20);
    }
}

TEST(simulated_faults, run_out_of_memory_at_each_kind_of_operation) {
    std::map<std::string, int> times;
    const auto count = [&](const char* what, bool ok, const error& e) {
        if (ok) return;
        EXPECT_EQ(e, std::errc::not_enough_memory) << what;
        ++times[what];
    };
    for (const std::uint64_t seed : seeds(400)) {
        simulation_options o = seeded(seed);
        o.faults.no_memory = 4;
        simulation sim(o);
        sim.run([&]() -> task<> {
            net::address to = at("127.0.0.1:80");
            auto l = net::listener::open(sim.loop(), to);
            if (!l) co_return count("listen", false, l.error());
            auto client = co_await as_result(net::connect(to));
            count("connect", client.has_value(), client ? error() : client.error());
            if (!client) co_return;
            auto server = co_await as_result(l->accept());
            count("accept", server.has_value(), server ? error() : server.error());
            if (!server) co_return;
            const std::int64_t tried = (*client)->try_send("x");
            if (tried == -ENOMEM) ++times["try_send"];
            auto sent = co_await as_result((*client)->send("x"));
            count("send", sent.has_value(), sent ? error() : sent.error());
            if (!sent) co_return;
            auto bytes = co_await as_result((*server)->receive());
            count("receive", bytes.has_value(), bytes ? error() : bytes.error());
            auto made = co_await as_result(fs::make_directory("/d"));
            count("file", made.has_value(), made ? error() : made.error());
        });
    }
    if (!runs_all()) return;
    for (const char* what : {"connect", "accept", "try_send", "send", "receive", "file"}) {
        EXPECT_GE(times[what], 5) << what;
    }
}

TEST(simulated_faults, are_interruptions_of_what_could_complete_at_once) {
    simulation_options o = seeded(1);
    o.split = false;
    for (const std::uint32_t rate : {0U, 2U}) {
        o.faults.interruptions = rate;
        with_both_ends(o, [&](net::socket& client, net::socket&) -> task<> {
            int refused = 0;
            for (int i = 0; i != 100; ++i) {
                if (client.try_send("x") == -EAGAIN) ++refused;
            }
            EXPECT_EQ(refused != 0, rate != 0) << refused;
            EXPECT_LT(refused, 80);
            co_return;
        });
    }
}

TEST(simulation, gives_less_than_has_come_at_times_where_it_may_split) {
    for (const bool split : {true, false}) {
        int in_part = 0;
        for (const std::uint64_t seed : seeds(40)) {
            simulation_options o = seeded(seed);
            o.split = split;
            with_both_ends(o, [&](net::socket& client, net::socket& server) -> task<> {
                co_await client.send(std::string(1000, 'x'));
                co_await sleep_for(1s);  // all of it has come
                auto first = co_await server.receive();
                if (first.size() < 1000) ++in_part;
                std::size_t got = first.size();
                while (got < 1000) got += (co_await server.receive()).size();
                EXPECT_EQ(got, 1000U);
            });
        }
        if (!runs_all()) continue;
        if (split) {
            EXPECT_GE(in_part, 3);
            EXPECT_LE(in_part, 30);
        } else {
            EXPECT_EQ(in_part, 0);
        }
    }
}

TEST(simulation, lets_no_more_connections_wait_than_the_listener_said) {
    simulation sim(1);
    sim.run([&]() -> task<> {
        socket_options so;
        so.backlog = 2;
        auto l = net::listener::open(sim.loop(), at("127.0.0.1:80"), so);
        std::vector<std::unique_ptr<net::socket>> waiting;
        for (int i = 0; i != 2; ++i) waiting.push_back(co_await net::connect(l->local()));
        const auto calls = [&]() -> task<> {
            waiting.push_back(co_await net::connect(l->local()));
        };
        EXPECT_FALSE(co_await as_result(with_timeout(10s, calls))) << "a third found room";
        static_cast<void>(co_await l->accept());
        EXPECT_TRUE(co_await as_result(with_timeout(10s, calls)));
        // As with Linux: after tries at 1, 3, 7, ... seconds.
        const time_point before = sim.now();
        auto never = co_await as_result(net::connect(l->local()));
        EXPECT_FALSE(never);
        if (!never) {
            EXPECT_EQ(never.error(), std::errc::timed_out);
        }
        EXPECT_GT(sim.now() - before, 30s);
    });
}

TEST(simulated_faults, silence_a_connection_and_tell_nobody) {
    std::size_t timeouts = 0;
    const auto met = count_of(fault::silence, &fault_options::silences, [&](const outcome& o) {
        if (o.got.size() == text().size()) return;
        EXPECT_TRUE(o.client_error == std::errc::operation_canceled) << o.client_error;
        ++timeouts;
    });
    if (!runs_all()) return;
    EXPECT_GE(met, 20u);
    EXPECT_GE(timeouts, 10u);
}

TEST(simulated_faults, stall_a_connection_and_lose_nothing) {
    int late = 0;
    const auto met = count_of(fault::stall, &fault_options::stalls, [&](const outcome& o) {
        if (o.took > 500ms + 1s) ++late;  // the last second is waited for in any case
        EXPECT_FALSE(o.faults.may_lose());
        EXPECT_TRUE(o.got == text());
        EXPECT_LT(o.took, 7s);
    });
    if (!runs_all()) return;
    EXPECT_GE(met, 20u);
    EXPECT_GE(late, 10);
}

TEST(simulated_faults, interrupt_and_lose_nothing) {
    for (const std::uint64_t seed : seeds(50)) {
        simulation_options o = seeded(seed);
        o.faults.interruptions = 2;
        const outcome out = send_through(o, text());
        EXPECT_TRUE(out.got == text()) << "seed " << seed;
        EXPECT_TRUE(out.faults.empty());
    }
}

TEST(simulated_faults, refuse_a_call_although_somebody_listens) {
    simulation_options o;
    o.faults.refusals = 1;
    EXPECT_EQ(send_through(o, "x").connect_error, std::errc::connection_refused);
}

TEST(simulated_faults, run_out_of_descriptors) {
    simulation_options o;
    o.faults.no_descriptors = 1;
    EXPECT_EQ(send_through(o, "x").connect_error, std::errc::too_many_files_open);
}

TEST(simulated_faults, leave_a_call_without_a_response) {
    simulation_options o;
    o.faults.black_holes = 1;
    simulation sim(o);
    sim.run([&]() -> task<> {
        net::listener l = open_listener(sim.loop());
        auto s = co_await as_result(net::connect(l.local()));
        EXPECT_FALSE(s);
        if (!s) {
            EXPECT_EQ(s.error(), std::errc::timed_out);
        }
        EXPECT_GE(sim.elapsed(), 127s);
        EXPECT_LT(sim.elapsed(), 128s);
    });
}

TEST(simulated_faults, make_black_holes_of_addresses) {
    simulation sim(3);
    sim.run([&]() -> task<> {
        net::listener l = open_listener(sim.loop(), "10.0.0.1:80");
        for (const char* hole : {"10.0.0.1:80", "10.0.0.1:0"}) {
            sim.backend().black_hole(at(hole));
            auto calling = [&]() -> task<> { co_await net::connect(l.local()); };
            EXPECT_FALSE(co_await as_result(with_timeout(1min, calling)));
            sim.backend().restore(at(hole));
            EXPECT_TRUE(co_await as_result(with_timeout(1min, calling)));
        }
        sim.backend().black_hole(at("10.0.0.2:0"));
        co_await net::connect(l.local());
    });
    EXPECT_EQ(sim.backend().open_descriptors(), 0u);
}

TEST(simulated_faults, make_each_operation_fail_in_turn) {
    std::set<std::string> reported;
    for (const opcode kind : {opcode::accept, opcode::connect, opcode::receive, opcode::send}) {
        for (std::uint64_t nth = 1; nth <= 12; ++nth) {
            simulation_options o = seeded(nth);
            o.faults.fails = kind;
            o.faults.fails_at = nth;
            const outcome out = send_through(o, text());
            const bool whole = out.got == text();
            EXPECT_TRUE(whole || out.faults.contains(fault::no_memory) ||
                        out.connect_error == std::errc::not_enough_memory)
                << static_cast<int>(kind) << ' ' << nth;
            if (out.client_error == std::errc::not_enough_memory) reported.insert("client");
            if (out.connect_error == std::errc::not_enough_memory) reported.insert("connect");
        }
    }
    EXPECT_EQ(reported.size(), 2u);
}

TEST(simulated_faults, of_the_same_seed_are_the_same) {
    for (const std::uint64_t seed : seeds(20)) {
        std::uint64_t traces[2];
        for (std::uint64_t& trace : traces) {
            simulation_options o = seeded(seed);
            o.faults = fault_options::every();
            simulation sim(o);
            net::listener l = open_listener(sim.loop());
            sim.run([&]() -> task<> {
                spawn([&]() { return echo_one(l); });
                for (int i = 0; i != 10; ++i) {
                    auto s = co_await as_result(net::connect(l.local()));
                    if (!s) continue;
                    auto talk = [&]() -> task<> {
                        co_await (*s)->send("question");
                        co_await (*s)->receive();
                    };
                    co_await as_result(with_timeout(1min, talk));
                    (*s)->close();
                }
            });
            trace = sim.trace();
        }
        EXPECT_EQ(traces[0], traces[1]) << "seed " << seed;
    }
}

TEST(simulated_faults, are_told_in_the_trace) {
    std::string lines;
    simulation_options o;
    o.faults.refusals = 1;
    o.trace = [](void* user, std::string_view line) {
        static_cast<std::string*>(user)->append(line).append("\n");
    };
    o.trace_user = &lines;
    send_through(o, "x");
    EXPECT_NE(lines.find(" fault: connection 1 is refused\n"), std::string::npos) << lines;
    EXPECT_NE(lines.find(" connection 1, client: refused 111\n"), std::string::npos) << lines;
}

TEST(simulated_faults, with_delays_that_no_clock_holds_come_never_and_not_at_once) {
    simulation_options o;
    o.faults.call_timeout = duration::max();
    o.faults.stall_max = duration(-1);
    o.faults.late_max = duration::min();
    o.latency_min = duration(-1);
    simulation sim(o);
    sim.run([&]() -> task<> {
        const auto hole = *net::address::parse("192.0.2.1:80");
        sim.backend().black_hole(hole);
        const auto calling = [&] { return net::connect(hole); };
        const time_point before = sim.now();
        const auto r = co_await as_result(with_timeout(10min, calling));
        EXPECT_FALSE(r);
        EXPECT_GE(sim.now() - before, 10min);
    });
}
