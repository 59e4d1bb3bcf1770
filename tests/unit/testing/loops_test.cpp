// Several loops in one simulated world and one thread.

#include "unit/testing/simulated_pair.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

using namespace simulated;

namespace {

simulation_options with_loops(unsigned n, std::uint64_t seed = 1) {
    simulation_options o = seeded(seed);
    o.loops = n;
    return o;
}

}  // namespace

TEST(simulated_loops, are_each_current_during_their_turns) {
    simulation sim(with_loops(3));
    std::set<unsigned> seen;
    sim.run_on_all([&](loop& l) -> task<> {
        for (int i = 0; i != 10; ++i) {
            EXPECT_EQ(loop::current(), &l);
            seen.insert(loop::current()->index());
            co_await sleep_for(1ms);
        }
    });
    EXPECT_EQ(seen.size(), 3u);
    EXPECT_EQ(loop::current(), nullptr);
}

TEST(simulated_loops, let_an_hour_pass_at_once_when_all_have_nothing_to_do) {
    simulation sim(with_loops(3));
    std::string order;
    sim.run_on_all([&](loop& l) -> task<> {
        co_await sleep_for((3 - l.index()) * 20min);
        order += std::to_string(l.index());
    });
    EXPECT_EQ(order, "210");
    EXPECT_GE(sim.elapsed(), 1h);
    EXPECT_LT(sim.elapsed(), 1h + 1s);
}

TEST(simulated_loops, reach_each_other_by_post) {
    simulation sim(with_loops(2));
    int hops = 0;
    sim.run([&]() -> task<> {
        event back;
        for (int i = 0; i != 100; ++i) {
            back.reset();
            sim.loop(1).post([&] {
                EXPECT_EQ(loop::current(), &sim.loop(1));
                ++hops;
                sim.loop(0).post([&] { back.set(); });
            });
            co_await back.wait();
        }
    });
    EXPECT_EQ(hops, 100);
}

TEST(simulated_loops, share_one_network) {
    for (const std::uint64_t seed : seeds(20)) {
        simulation sim(with_loops(3, seed));
        sim.run([&]() -> task<> {
            net::listener l = open_listener(sim.loop(), "unix:@shared");
            bool served = false;
            event ready;
            sim.loop(1).post([&] {
                spawn([&]() -> task<> {
                    auto twin = net::listener::share(*loop::current(), l);
                    EXPECT_TRUE(twin);
                    if (!twin) co_return;
                    sim.loop(0).post([&] { ready.set(); });
                    auto s = co_await twin->accept();
                    EXPECT_EQ(&s->owner(), &sim.loop(1));
                    peer p(std::move(s));
                    EXPECT_EQ(co_await p.read_until("\n"), "question\n");
                    co_await p.send("reply\n");
                    served = true;
                });
            });
            co_await ready.wait();
            peer p = co_await connect_peer(l.local());
            co_await p.send("question\n");
            EXPECT_EQ(co_await p.read_until("\n"), "reply\n");
            while (!served) co_await sleep_for(1ms);
        });
        EXPECT_EQ(sim.backend().open_descriptors(), 0u) << sim.replay();
    }
}

TEST(simulated_loops, take_their_turns_in_an_order_that_the_seed_decides) {
    const auto order_of = [](std::uint64_t seed) {
        simulation sim(with_loops(3, seed));
        std::string order;
        sim.run_on_all([&](loop& l) -> task<> {
            for (int i = 0; i != 5; ++i) {
                order += std::to_string(l.index());
                co_await yield();
            }
        });
        return order;
    };
    std::set<std::string> orders;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        orders.insert(order_of(seed));
        EXPECT_EQ(order_of(seed), order_of(seed));
    }
    EXPECT_GE(orders.size(), 10u);
}

TEST(simulated_loops, stop_what_is_left_on_all_of_them) {
    int unwound = 0;
    struct guard {
        int& count;
        ~guard() { ++count; }
    };
    simulation sim(with_loops(3));
    sim.run([&]() -> task<> {
        for (std::size_t i = 0; i != 3; ++i) {
            sim.loop(i).post([&] {
                spawn([&]() -> task<> {
                    const guard g{unwound};
                    co_await forever();
                });
            });
        }
        co_await sleep_for(1s);
        EXPECT_EQ(sim.detached(), 3u);
    });
    EXPECT_EQ(unwound, 3);
}

TEST(simulated_loops, give_the_first_exception) {
    simulation sim(with_loops(3));
    EXPECT_THROW(sim.run_on_all([](loop& l) -> task<> {
        if (l.index() == 1) throw std::logic_error("on one of them");
        co_await forever();
    }),
                 std::logic_error);
}

TEST(simulated_loops, run_to_their_ends_when_one_has_thrown) {
    struct guard {
        int& ended_on_a_loop;
        ~guard() {
            if (loop::current() != nullptr) ++ended_on_a_loop;
        }
    };
    for (const std::uint64_t seed : seeds(20)) {
        int ended = 0;
        simulation sim(with_loops(3, seed));
        EXPECT_THROW(sim.run_on_all([&](loop& l) -> task<> {
            const guard own{ended};
            if (l.index() == 1) {
                co_await sleep_for(1s);
                throw std::logic_error("on one of them");
            }
            co_await with_task_group([&](task_group& group) -> task<> {
                group.spawn([&]() -> task<> {
                    const guard below{ended};
                    co_await forever();
                });
                // Takes turns after it was cancelled.
                co_await as_result(forever());
                co_await shielded(1min, [] { return sleep_for(1s); });
                throw std::runtime_error("the end of another");
            });
        }),
                     std::logic_error);
        EXPECT_EQ(ended, 5) << sim.replay();
    }
}

TEST(simulated_loops, are_unwound_when_all_wait_for_what_never_comes) {
    int unwound = 0;
    struct guard {
        int& count;
        ~guard() { ++count; }
    };
    simulation sim(with_loops(3));
    EXPECT_THROW(sim.run_on_all([&](loop&) -> task<> {
        const guard g{unwound};
        event never;
        co_await never.wait();
    }),
                 simulation_failure);
    EXPECT_EQ(unwound, 3);
}

TEST(simulated_loops, report_a_deadlock) {
    simulation sim(with_loops(2));
    try {
        sim.run([]() -> task<> {
            event never;
            co_await never.wait();
        });
        FAIL() << "no deadlock";
    } catch (const simulation_failure& e) {
        EXPECT_TRUE(std::string_view(e.what()).starts_with("seed 1: deadlock")) << e.what();
    }
}
