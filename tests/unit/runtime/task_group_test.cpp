#include "support/trace.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::run_virtually;
using coracle::testing::trace;

TEST(task_group, is_awaited_to_the_end_of_its_last_task) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        int ended = 0;
        const auto block = [&](task_group& g) -> task<int> {
            for (int i = 1; i <= 3; ++i) {
                g.spawn([&ended, i]() -> task<> {
                    co_await sleep_for(10ms * i);
                    ++ended;
                });
            }
            EXPECT_EQ(g.size(), 3u);
            co_return 7;
        };
        EXPECT_EQ(co_await with_task_group(block), 7);
        EXPECT_EQ(ended, 3);
        EXPECT_EQ(loop::current()->now() - start, 30ms);
    });
}

TEST(task_group, without_tasks_gives_the_value_of_its_block) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group&) -> task<int> { co_return 1; };
        EXPECT_EQ(co_await with_task_group(block), 1);
        const auto waits = [](task_group&) -> task<> { co_await yield(); };
        co_await with_task_group(waits);
    });
}

TEST(task_group, starts_its_tasks_at_once) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<> {
            bool ran = false;
            g.spawn([&ran]() -> task<> {
                ran = true;
                co_return;
            });
            EXPECT_TRUE(ran);
            co_return;
        };
        co_await with_task_group(block);
    });
}

TEST(task_group, holds_ten_thousand_tasks) {
    run_virtually([]() -> task<> {
        int ended = 0;
        const auto block = [&](task_group& g) -> task<> {
            for (int i = 0; i != 10'000; ++i) {
                g.spawn([&ended, i]() -> task<> {
                    co_await sleep_for(1ms * (i % 100));
                    ++ended;
                });
            }
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(ended, 10'000);
    });
}

TEST(task_group, lets_its_tasks_spawn_more) {
    run_virtually([]() -> task<> {
        int ended = 0;
        struct tree {
            static task<> grow(task_group& g, int depth, int& ended) {
                co_await sleep_for(1ms);
                if (depth != 0) {
                    g.spawn([&g, depth, &ended] { return grow(g, depth - 1, ended); });
                    g.spawn([&g, depth, &ended] { return grow(g, depth - 1, ended); });
                }
                ++ended;
            }
        };
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([&g, &ended] { return tree::grow(g, 9, ended); });
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(ended, 1023);
    });
}

TEST(task_group, throws_the_first_exception_of_a_task_after_all_have_unwound) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto block = [&](task_group& g) -> task<> {
            const trace t(log, "block");
            g.spawn([&]() -> task<> {
                const trace inner(log, "other");
                co_await forever();
            });
            g.spawn([]() -> task<> {
                co_await sleep_for(1ms);
                throw std::runtime_error("first");
            });
            co_await forever();
            log += "went on";
        };
        std::string caught;
        try {
            co_await with_task_group(block);
        } catch (const std::runtime_error& e) {
            caught = e.what();
            EXPECT_TRUE(log == "block other" || log == "other block") << log;
        }
        EXPECT_EQ(caught, "first");
    });
}

TEST(task_group, throws_the_exception_of_its_block_after_all_tasks_have_unwound) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                const trace t(log, "unwound");
                co_await forever();
            });
            throw std::runtime_error("block");
            co_return;
        };
        bool caught = false;
        try {
            co_await with_task_group(block);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
        EXPECT_EQ(log, "unwound");
    });
}

TEST(task_group, throws_the_exception_of_its_block_and_not_a_later_one_of_a_task) {
    run_virtually([&]() -> task<> {
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([]() -> task<> {
                const auto slept = co_await as_result(sleep_for(1h));
                if (!slept) throw_exception(slept.error());
            });
            throw_exception(error(std::errc::io_error, "block"));
            co_return;
        };
        const auto thrown = co_await as_result(with_task_group(block));
        EXPECT_FALSE(thrown);
        if (thrown) co_return;
        EXPECT_EQ(thrown.error(), std::errc::io_error) << thrown.error();
    });
}

TEST(task_group, cancelled_from_outside_stops_all_and_its_awaiter) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto whole = [&]() -> task<> {
            const trace awaiter(log, "awaiter");
            const auto block = [&](task_group& g) -> task<> {
                g.spawn([&]() -> task<> {
                    const trace t(log, "member");
                    co_await forever();
                });
                co_await forever();
            };
            co_await with_task_group(block);
            log += " went on";
        };
        auto r = co_await as_result(with_timeout(1ms, whole));
        EXPECT_TRUE(r.error() == std::errc::timed_out);
    });
    EXPECT_EQ(log, "member awaiter");
}

TEST(task_group, cancelled_by_a_task_gives_the_value_of_a_block_that_has_ended) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<int> {
            g.spawn([]() -> task<> { co_await forever(); });
            g.spawn([&g]() -> task<> {
                co_await sleep_for(1ms);
                g.cancel();
            });
            co_return 3;
        };
        EXPECT_EQ(co_await with_task_group(block), 3);
    });
}

TEST(task_group, cancelled_by_a_task_tells_so_when_the_block_was_stopped) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<int> {
            g.spawn([&g]() -> task<> {
                co_await sleep_for(1ms);
                g.cancel();
            });
            co_await forever();
            co_return 3;
        };
        auto r = co_await as_result(with_task_group(block));
        EXPECT_FALSE(r);
        EXPECT_TRUE(r.error() == std::errc::operation_canceled);
    });
}

TEST(task_group, as_a_result_holds_the_error_of_a_task) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<> {
            g.spawn([]() -> task<> {
                co_await yield();
                throw_exception(error(std::errc::broken_pipe, "member"));
            });
            co_return;
        };
        auto r = co_await as_result(with_task_group(block));
        EXPECT_FALSE(r);
        EXPECT_EQ(r.error().operation(), "member");
    });
}

TEST(task_group, owns_the_captures_of_its_block_and_its_tasks) {
    run_virtually([]() -> task<> {
        std::size_t sum = 0;
        const auto block = [text = std::string(100, 'x'), &sum](task_group& g) -> task<> {
            g.spawn([copy = text, &sum]() -> task<> {
                co_await sleep_for(1ms);
                sum += copy.size();
            });
            co_await yield();
            sum += text.size();
        };
        co_await with_task_group(block);
        EXPECT_EQ(sum, 200u);
    });
}

TEST(task_group, has_destroyed_all_captures_before_its_awaiter_goes_on) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([t = trace(log, "capture")]() -> task<> { co_await yield(); });
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(log, "capture");
    });
    EXPECT_EQ(log, "capture");
}

TEST(task_group, is_not_kept_waiting_by_a_callable_that_throws_before_there_is_a_task) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<> {
            const auto breaks = []() -> task<> {
                if (loop::current() != nullptr) throw std::logic_error("no task");
                return [](int) -> task<> { co_return; }(1);
            };
            bool caught = false;
            try {
                g.spawn(breaks);
            } catch (const std::logic_error&) {
                caught = true;
            }
            EXPECT_TRUE(caught);
            EXPECT_EQ(g.size(), 0u);
            co_return;
        };
        co_await with_task_group(block);
    });
}

TEST(task_group, awaits_its_tasks_when_the_block_throws_before_there_is_a_task) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto breaks = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                const trace t(log, "unwound");
                co_await forever();
            });
            if (g.size() == 1) throw std::logic_error("no task");
            return [](int) -> task<> { co_return; }(1);
        };
        bool caught = false;
        try {
            co_await with_task_group(breaks);
        } catch (const std::logic_error&) {
            caught = true;
            EXPECT_EQ(log, "unwound");
        }
        EXPECT_TRUE(caught);
    });
}

TEST(task_group, with_a_limit_runs_no_more_tasks_at_a_time) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        int running = 0;
        int most = 0;
        const auto block = [&](task_group& g) -> task<> {
            EXPECT_EQ(g.limit(), 3u);
            auto work = [&]() -> task<> {
                most = std::max(most, ++running);
                co_await sleep_for(10ms);
                --running;
            };
            for (int i = 0; i != 10; ++i) co_await g.spawn_when_free(work);
        };
        co_await with_task_group(3, block);
        EXPECT_EQ(most, 3);
        EXPECT_EQ(running, 0);
        EXPECT_EQ(loop::current()->now() - start, 40ms);
    });
}

TEST(task_group, gives_its_places_in_the_order_of_asking) {
    run_virtually([]() -> task<> {
        std::string log;
        const auto block = [&](task_group& g) -> task<> {
            g.limit(6);
            g.spawn([] { return sleep_for(1ms); });
            for (char c = 'a'; c <= 'e'; ++c) {
                g.spawn([&g, &log, c]() -> task<> {
                    auto work = [&log, c]() -> task<> {
                        log += c;
                        co_await yield();
                    };
                    co_await g.spawn_when_free(work);
                });
            }
            co_return;
        };
        co_await with_task_group(block);
        EXPECT_EQ(log, "abcde");
    });
}

TEST(task_group, tells_at_once_whether_there_is_a_place) {
    run_virtually([]() -> task<> {
        const auto block = [](task_group& g) -> task<> {
            EXPECT_TRUE(g.try_spawn([] { return sleep_for(1ms); }));
            EXPECT_FALSE(g.try_spawn([] { return sleep_for(1ms); }));
            g.spawn([] { return sleep_for(5ms); });
            EXPECT_EQ(g.size(), 2u);
            co_await sleep_for(2ms);
            EXPECT_FALSE(g.try_spawn([] { return yield(); })) << "spawned ones count too";
            g.limit(2);
            EXPECT_TRUE(g.try_spawn([] { return yield(); }));
        };
        co_await with_task_group(1, block);
    });
}

TEST(task_group, whose_limit_is_raised_lets_those_that_wait_go_on) {
    run_virtually([]() -> task<> {
        const auto start = loop::current()->now();
        const auto block = [](task_group& g) -> task<> {
            g.spawn([&g]() -> task<> {
                co_await sleep_for(5ms);
                g.limit(task_group::unlimited);
            });
            auto work = [] { return sleep_for(1ms); };
            for (int i = 0; i != 4; ++i) co_await g.spawn_when_free(work);
        };
        co_await with_task_group(0, block);
        EXPECT_EQ(loop::current()->now() - start, 6ms);
    });
}

TEST(task_group, loses_no_place_to_a_cancelled_wait) {
    run_virtually([]() -> task<> {
        int started = 0;
        const auto block = [&](task_group& g) -> task<> {
            auto work = [&started]() -> task<> {
                ++started;
                co_await sleep_for(10ms);
            };
            co_await g.spawn_when_free(work);
            const auto gives_up = [&]() -> task<> { co_await g.spawn_when_free(work); };
            for (int i = 0; i != 3; ++i) {
                auto r = co_await as_result(with_timeout(1ms, gives_up));
                EXPECT_FALSE(r);
            }
            EXPECT_EQ(started, 1);
            auto last = co_await as_result(g.spawn_when_free(work));
            EXPECT_TRUE(last);
            EXPECT_EQ(started, 2);
        };
        co_await with_task_group(1, block);
    });
}

// Cancelled some turns before it has its place, in those in which it gets it, and never.
TEST(task_group, calls_nothing_for_a_wait_that_is_cancelled_when_its_place_comes) {
    unsigned cancelled = 0;
    for (int turns = 0; turns != 6; ++turns) {
        run_virtually([turns, &cancelled]() -> task<> {
            int started = 0;
            const auto block = [&](task_group& g) -> task<> {
                auto work = [&started]() -> task<> {
                    ++started;
                    co_return;
                };
                const auto gives_up = [turns]() -> task<> {
                    co_await sleep_for(5ms);
                    for (int i = 0; i != turns; ++i) co_await yield();
                };
                g.spawn([] { return sleep_for(5ms); });
                const auto first = co_await when_any(gives_up(), g.spawn_when_free(work));
                EXPECT_EQ(started, first.index == 0 ? 0 : 1) << turns;
                if (first.index == 0) ++cancelled;
                co_await sleep_for(1ms);
                EXPECT_TRUE(g.try_spawn(work)) << "the place is free again";
            };
            co_await with_task_group(1, block);
        });
    }
    EXPECT_GT(cancelled, 0U);
    EXPECT_LT(cancelled, 6U);
}

TEST(task_group, that_fails_stops_those_that_wait_for_a_place) {
    std::string log;
    run_virtually([&]() -> task<> {
        const auto block = [&](task_group& g) -> task<> {
            const trace t(log, "block");
            g.spawn([]() -> task<> {
                co_await sleep_for(1ms);
                throw std::runtime_error("member");
            });
            auto work = [&log]() -> task<> {
                log += "started ";
                co_return;
            };
            co_await g.spawn_when_free(work);
        };
        bool caught = false;
        try {
            co_await with_task_group(1, block);
        } catch (const std::runtime_error&) {
            caught = true;
        }
        EXPECT_TRUE(caught);
    });
    EXPECT_EQ(log, "block");
}

TEST(task_group, gives_the_place_of_a_callable_that_throws_to_the_next) {
    run_virtually([]() -> task<> {
        bool ran = false;
        const auto block = [&](task_group& g) -> task<> {
            g.spawn([] { return sleep_for(1ms); });
            g.spawn([&]() -> task<> {
                auto breaks = []() -> task<> {
                    if (loop::current() != nullptr) throw std::logic_error("no task");
                    return [](int) -> task<> { co_return; }(1);
                };
                bool caught = false;
                try {
                    co_await g.spawn_when_free(breaks);
                } catch (const std::logic_error&) {
                    caught = true;
                }
                EXPECT_TRUE(caught);
            });
            auto work = [&ran]() -> task<> {
                ran = true;
                co_return;
            };
            co_await g.spawn_when_free(work);
        };
        co_await with_task_group(2, block);
        EXPECT_TRUE(ran);
    });
}
