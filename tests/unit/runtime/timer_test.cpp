#include "support/allocation_count.hpp"
#include "support/sanitized.hpp"
#include "support/virtual_time.hpp"

#include <coracle/runtime/timer.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::detail::deadline_wheel;
using coracle::detail::timer_heap;

namespace {

constexpr time_point start{std::chrono::seconds(1000)};

struct recorder final : detail::timer {
    recorder(std::vector<int>& o, int i) : out(&o), id(i) {}
    void expired() noexcept override { out->push_back(id); }
    std::vector<int>* out;
    int id;
};

/// A timer that does something when it fires.
template <class F>
struct acting final : detail::timer {
    explicit acting(F f) : act(std::move(f)) {}
    void expired() noexcept override { act(); }
    F act;
};

}  // namespace

TEST(timer_heap, fires_in_exact_order_and_equal_times_in_order_of_arming) {
    std::mt19937 draw(1);
    timer_heap heap;
    std::vector<int> fired;
    std::vector<std::unique_ptr<recorder>> timers;
    std::multimap<time_point, int> expected;  // equal keys stay in the order of insertion
    for (int i = 0; i != 100'000; ++i) {
        timers.push_back(std::make_unique<recorder>(fired, i));
        const auto due = start + 1ms * static_cast<int>(draw() % 5000);
        heap.arm(*timers.back(), due);
        expected.emplace(due, i);
    }
    EXPECT_EQ(heap.size(), 100'000u);
    for (auto now = start; !heap.empty(); now += 7ms) heap.fire(now);
    ASSERT_EQ(fired.size(), expected.size());
    auto at = fired.begin();
    for (const auto& [due, id] : expected) ASSERT_EQ(*at++, id);
}

namespace {

/// Where a million timers stand, to see how many of them one step moves.
class positions {
public:
    explicit positions(const std::vector<std::unique_ptr<recorder>>& timers) : timers_(timers) {
        for (const auto& t : timers_) before_.push_back(t->at);
    }
    std::size_t moved() const {
        std::size_t n = 0;
        for (std::size_t i = 0; i != before_.size(); ++i) n += timers_[i]->at != before_[i];
        return n;
    }

private:
    const std::vector<std::unique_ptr<recorder>>& timers_;
    std::vector<std::uint32_t> before_;
};

}  // namespace

TEST(timer_heap, of_a_million_timers_moves_a_few_to_arm_or_disarm_one) {
    std::mt19937 draw(4);
    timer_heap heap;
    std::vector<int> fired;
    std::vector<std::unique_ptr<recorder>> timers;
    constexpr std::size_t count = coracle::testing::fewer_if_sanitized(1'000'000);
    for (std::size_t i = 0; i != count; ++i) {
        timers.push_back(std::make_unique<recorder>(fired, static_cast<int>(i)));
        heap.arm(*timers.back(), start + 1ns * static_cast<int>(draw() % 1'000'000'000));
    }
    // A 4-ary heap of a million is eleven levels high: the one, and one for each level.
    constexpr std::size_t most = 12;
    for (int i = 0; i != 5; ++i) {
        auto& one = *timers[draw() % count];
        const positions before(timers);
        heap.disarm(one);
        EXPECT_LE(before.moved(), most);
        const positions without(timers);
        heap.arm(one, start + 1ns * static_cast<int>(draw() % 1'000'000'000));
        EXPECT_LE(without.moved(), most);
    }
    for (auto& t : timers) heap.disarm(*t);
    EXPECT_TRUE(heap.empty());
    EXPECT_TRUE(fired.empty());
}

TEST(timer_heap, arms_in_order_of_time_without_moving_any) {
    timer_heap heap;
    std::vector<int> fired;
    std::vector<std::unique_ptr<recorder>> timers;
    for (int i = 0; i != 100'000; ++i) {
        timers.push_back(std::make_unique<recorder>(fired, i));
        heap.arm(*timers.back(), start + 1ns * i);
        ASSERT_EQ(timers.back()->at, static_cast<std::uint32_t>(i));
    }
    for (int i = 0; i != 100'000; ++i)
        ASSERT_EQ(timers[static_cast<std::size_t>(i)]->at, static_cast<std::uint32_t>(i));
    heap.fire(start + 1s);
    EXPECT_TRUE(std::is_sorted(fired.begin(), fired.end()));
    EXPECT_EQ(fired.size(), 100'000u);
}

TEST(timer_heap, agrees_with_a_multimap_under_random_arming_moving_and_disarming) {
    std::mt19937 draw(2);
    timer_heap heap;
    std::vector<int> fired;
    std::vector<std::unique_ptr<recorder>> timers;
    for (int i = 0; i != 200; ++i) timers.push_back(std::make_unique<recorder>(fired, i));
    std::multimap<time_point, int> model;
    auto now = start;
    for (int step = 0; step != 20'000; ++step) {
        const int id = static_cast<int>(draw() % 200);
        std::erase_if(model, [id](const auto& entry) { return entry.second == id; });
        if (draw() % 3 == 0) {
            heap.disarm(*timers[static_cast<std::size_t>(id)]);
        } else {
            const auto due = now + 1ms * static_cast<int>(draw() % 100);
            heap.arm(*timers[static_cast<std::size_t>(id)], due);
            model.emplace(due, id);
        }
        ASSERT_EQ(heap.size(), model.size());
        if (!model.empty()) {
            ASSERT_EQ(heap.next(), model.begin()->first);
        }
        if (draw() % 10 != 0) continue;
        now += 1ms * static_cast<int>(draw() % 50);
        std::vector<int> expected;
        while (!model.empty() && model.begin()->first <= now) {
            expected.push_back(model.begin()->second);
            model.erase(model.begin());
        }
        fired.clear();
        heap.fire(now);
        ASSERT_EQ(fired, expected);
    }
}

TEST(timer_heap, takes_timers_and_keeps_their_order_without_memory_to_grow) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    std::mt19937 draw(3);
    std::vector<int> fired;
    fired.reserve(1000);
    std::vector<std::unique_ptr<recorder>> timers;
    for (int i = 0; i != 1000; ++i) timers.push_back(std::make_unique<recorder>(fired, i));
    timer_heap heap;
    std::multimap<time_point, int> expected;
    for (int i = 0; i != 1000; ++i) {
        auto& timer = *timers[static_cast<std::size_t>(i)];
        const auto due = start + 1ms * static_cast<int>(draw() % 300);
        coracle::testing::fail_allocation(draw() % 8 != 0 ? 1 : 0);
        heap.arm(timer, due);
        coracle::testing::fail_allocation(0);
        if (draw() % 4 == 0)
            heap.disarm(timer);
        else
            expected.emplace(due, i);
        ASSERT_EQ(heap.size(), expected.size());
    }
    for (auto now = start; !heap.empty(); now += 7ms) {
        EXPECT_EQ(heap.next(), std::next(expected.begin(), static_cast<int>(fired.size()))->first);
        heap.fire(now);
    }
    ASSERT_EQ(fired.size(), expected.size());
    auto at = fired.begin();
    for (const auto& [due, id] : expected) ASSERT_EQ(*at++, id);
}

TEST(timer_heap, forgets_a_timer_that_another_one_disarms_while_it_fires) {
    timer_heap heap;
    std::vector<int> fired;
    recorder victim(fired, 1);
    acting killer([&] { heap.disarm(victim); });
    heap.arm(killer, start);
    heap.arm(victim, start);
    heap.fire(start);
    EXPECT_TRUE(fired.empty());
    EXPECT_TRUE(heap.empty());
    heap.disarm(victim);
}

TEST(timer_heap, leaves_what_is_armed_while_it_fires_to_the_next_time) {
    timer_heap heap;
    int times = 0;
    struct again final : detail::timer {
        again(timer_heap& h, int& n) : heap(&h), times(&n) {}
        void expired() noexcept override {
            ++*times;
            heap->arm(*this, start);
        }
        timer_heap* heap;
        int* times;
    } timer(heap, times);
    heap.arm(timer, start);
    heap.fire(start + 1s);
    EXPECT_EQ(times, 1);
    heap.fire(start + 1s);
    EXPECT_EQ(times, 2);
    heap.disarm(timer);
}

namespace {

constexpr duration tick{deadline_wheel::tick};

/// Deadlines on a loop whose wheel is driven by hand.
class wheel_test : public ::testing::Test {
protected:
    struct probe final : deadline {
        probe(wheel_test& t, int i) : deadline(t.loop_), test(&t), id(i) {}
        void expired() noexcept override { test->fired_.push_back(id); }
        wheel_test* test;
        int id;
    };

    wheel_test() {
        for (int i = 0; i != 300; ++i) probes_.push_back(std::make_unique<probe>(*this, i));
    }
    probe& at(std::size_t i) { return *probes_[i]; }
    void advance(time_point now) {
        fired_.clear();
        loop_.deadlines().advance(now);
    }
    /// As a loop does: goes from one wake to the next, and stops at `now`.
    std::vector<std::pair<int, time_point>> run_to(time_point now) {
        std::vector<std::pair<int, time_point>> all;
        for (;;) {
            const auto next = std::max(loop_.deadlines().next(), now_);
            if (next > now) break;
            now_ = next;
            advance(now_);
            for (const int id : fired_) all.emplace_back(id, now_);
        }
        now_ = now;
        return all;
    }

    logger silent_;
    loop loop_{std::make_unique<coracle::testing::virtual_backend>(), silent_};
    time_point now_ = start;
    std::vector<int> fired_;
    std::vector<std::unique_ptr<probe>> probes_;
};

}  // namespace

TEST_F(wheel_test, fires_never_early_and_at_most_a_tick_late) {
    // Distances around the edges of every level, and beyond the horizon of the wheel.
    std::vector<std::int64_t> ticks;
    for (const std::int64_t edge : {1LL, 64LL, 4096LL, 262'144LL, 16'777'216LL, 20'000'000LL}) {
        for (const std::int64_t off : {-1, 0, 1}) ticks.push_back(edge + off);
    }
    for (const duration part : {duration(0), duration(1), tick / 2, tick - duration(1)}) {
        for (std::size_t i = 0; i != ticks.size(); ++i) at(i).arm(now_ + ticks[i] * tick + part);
        std::vector<time_point> due;
        for (std::size_t i = 0; i != ticks.size(); ++i) due.push_back(at(i).due());
        const auto fired = run_to(now_ + 21'000'000 * tick);
        ASSERT_EQ(fired.size(), ticks.size());
        for (const auto& [id, when] : fired) {
            EXPECT_GE(when, due[static_cast<std::size_t>(id)]);
            EXPECT_LE(when, due[static_cast<std::size_t>(id)] + 2 * tick);
            EXPECT_FALSE(at(static_cast<std::size_t>(id)).armed());
        }
    }
}

TEST_F(wheel_test, agrees_with_a_model_over_long_spans) {
    std::mt19937_64 draw(3);
    const duration scales[] = {1ms, 50ms, 1s, 60s, 3600s, 24h, 24h * 20};
    std::multimap<time_point, int> model;
    std::size_t count = 0;
    for (int step = 0; step != 30'000; ++step) {
        const auto id = static_cast<std::size_t>(draw() % probes_.size());
        std::erase_if(model, [id](const auto& e) { return e.second == static_cast<int>(id); });
        if (draw() % 4 == 0) {
            at(id).disarm();
        } else {
            const duration scale = scales[draw() % std::size(scales)];
            const auto due = now_ + scale * static_cast<int>(draw() % 1000) / 100;
            at(id).arm(due);
            model.emplace(due, static_cast<int>(id));
        }
        if (draw() % 8 != 0) continue;
        const duration scale = scales[draw() % 6];
        const auto until = now_ + scale * static_cast<int>(draw() % 300) / 100;
        for (const auto& [fired, when] : run_to(until)) {
            const auto found = std::find_if(model.begin(), model.end(),
                                            [f = fired](const auto& e) { return e.second == f; });
            ASSERT_NE(found, model.end()) << "fired although it was disarmed";
            ASSERT_GE(when, found->first);
            ASSERT_LE(when, found->first + 2 * tick);
            model.erase(found);
            ++count;
        }
        if (!model.empty()) {
            ASSERT_GT(model.begin()->first, now_ - 2 * tick) << "overdue";
        }
    }
    EXPECT_GT(count, 1000u);
}

TEST_F(wheel_test, moving_a_deadline_later_does_not_fire_it_at_the_old_time) {
    at(0).arm(now_ + 1s);
    for (int i = 0; i != 100; ++i) {
        EXPECT_TRUE(run_to(now_ + 500ms).empty());
        at(0).arm(now_ + 1s);
    }
    EXPECT_EQ(run_to(now_ + 2s).size(), 1u);
}

TEST_F(wheel_test, moving_a_deadline_earlier_fires_it_at_the_new_time) {
    at(0).arm(now_ + 24h);
    at(0).arm(now_ + 1s);
    const auto due = at(0).due();
    const auto fired = run_to(now_ + 1h);
    ASSERT_EQ(fired.size(), 1u);
    EXPECT_LE(fired[0].second, due + 2 * tick);
}

TEST_F(wheel_test, a_deadline_in_the_past_fires_with_the_next_tick) {
    at(0).arm(now_ - 1h);
    EXPECT_EQ(run_to(now_ + 2 * tick).size(), 1u);
}

TEST_F(wheel_test, forgets_a_deadline_that_is_destroyed_or_disarmed_by_another) {
    struct killer final : deadline {
        killer(loop& l, std::unique_ptr<probe>& v, probe& w) : deadline(l), victim(&v), other(&w) {}
        void expired() noexcept override {
            victim->reset();
            other->disarm();
        }
        std::unique_ptr<probe>* victim;
        probe* other;
    };
    for (int round = 0; round != 2; ++round) {
        killer k(loop_, probes_[0], at(1));
        auto fresh = std::make_unique<probe>(*this, 0);
        probes_[0] = std::move(fresh);
        k.arm(now_ + 1s);
        at(0).arm(now_ + 1s);
        at(1).arm(now_ + 1s);
        EXPECT_TRUE(run_to(now_ + 10s).empty());
    }
}

TEST_F(wheel_test, a_deadline_may_arm_itself_again_when_it_fires) {
    struct repeating final : deadline {
        repeating(loop& l, time_point& n) : deadline(l), now(&n) {}
        void expired() noexcept override {
            ++times;
            arm(*now + 1s);
        }
        time_point* now;
        int times = 0;
    } r(loop_, now_);
    r.arm(now_ + 1s);
    run_to(now_ + 100s);
    EXPECT_GE(r.times, 93);
    EXPECT_LE(r.times, 100);
}

TEST_F(wheel_test, waits_for_the_end_of_time_without_being_visited_each_tick) {
    at(0).arm(time_point::max() - duration(1));
    std::size_t visits = 0;
    while (loop_.deadlines().next() < now_ + 24h * 100) {
        advance(loop_.deadlines().next());
        EXPECT_TRUE(fired_.empty());
        ASSERT_LT(++visits, 100u);
    }
    EXPECT_TRUE(at(0).armed());
}

TEST_F(wheel_test, sleeps_until_the_end_when_it_is_empty) {
    EXPECT_EQ(loop_.deadlines().next(), time_point::max());
    at(0).arm(now_ + 1s);
    EXPECT_LE(loop_.deadlines().next(), now_ + 1s + tick);
    run_to(now_ + 10s);
    EXPECT_EQ(loop_.deadlines().next(), time_point::max());
}

TEST(deadline, fires_on_a_loop_within_its_bounds) {
    coracle::testing::run_virtually([]() -> task<> {
        struct probe final : deadline {
            using deadline::deadline;
            void expired() noexcept override { at = loop::current()->now(); }
            time_point at;
        } d(*loop::current());
        const auto due = loop::current()->now() + 10s;
        d.arm_in(10s);
        EXPECT_TRUE(d.armed());
        co_await sleep_for(11s);
        EXPECT_FALSE(d.armed());
        EXPECT_GE(d.at, due);
        EXPECT_LE(d.at, due + tick);
        const auto fired = d.at;
        d.arm_in(duration::max());
        co_await sleep_for(1h);
        EXPECT_EQ(d.at, fired) << "a span without an end is no span in the past";
    });
}
