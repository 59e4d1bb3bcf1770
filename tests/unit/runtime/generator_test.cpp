#include "support/trace.hpp"

#include <coracle/runtime/generator.hpp>

#include <gtest/gtest.h>

#include <limits>
#include <memory>
#include <ranges>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coracle;
using coracle::testing::trace;

static_assert(std::ranges::input_range<generator<int>>);
static_assert(std::ranges::view<generator<std::string>>);
static_assert(!std::is_copy_constructible_v<generator<int>>);

namespace {

generator<int> count_to(int n) {
    for (int i = 1; i <= n; ++i) co_yield i;
}

template <class T>
std::vector<T> all(generator<T> g) {
    std::vector<T> values;
    for (auto&& v : g) values.push_back(std::forward<decltype(v)>(v));
    return values;
}

struct node {
    int value;
    std::unique_ptr<node> left;
    std::unique_ptr<node> right;
};

generator<int> in_order(const node* n) {
    if (n == nullptr) co_return;
    co_yield elements_of(in_order(n->left.get()));
    co_yield n->value;
    co_yield elements_of(in_order(n->right.get()));
}

generator<int> naturals(int n) {
    co_yield n;
    if (n != std::numeric_limits<int>::max()) co_yield elements_of(naturals(n + 1));
}

/// Counts those of which a frame is left.
generator<int> counted(int depth, int& frames) {
    struct entry {
        explicit entry(int& f) : of(f) { ++of; }
        ~entry() { --of; }
        int& of;
    };
    const entry here(frames);
    co_yield depth;
    if (depth != 0) co_yield elements_of(counted(depth - 1, frames));
}

generator<int> descend(int depth) {
    if (depth != 0) co_yield elements_of(descend(depth - 1));
    co_yield depth;
}

}  // namespace

TEST(generator, gives_what_its_coroutine_yields) {
    EXPECT_EQ(all(count_to(4)), (std::vector<int>{1, 2, 3, 4}));
    EXPECT_EQ(all(count_to(0)), std::vector<int>{});
}

TEST(generator, runs_no_further_than_it_is_asked) {
    std::string log;
    const auto make = [](std::string& out) -> generator<int> {
        out += "a";
        co_yield 1;
        out += "b";
        co_yield 2;
        out += "c";
    };
    auto g = make(log);
    EXPECT_EQ(log, "");
    auto i = g.begin();
    EXPECT_EQ(log, "a");
    ++i;
    EXPECT_EQ(log, "ab");
    ++i;
    EXPECT_EQ(log, "abc");
    EXPECT_TRUE(i == g.end());
}

TEST(generator, is_a_range_that_views_take) {
    std::vector<int> values;
    for (const int n : count_to(1'000'000) | std::views::filter([](int n) { return n % 2 == 0; }) |
                           std::views::take(3)) {
        values.push_back(n);
    }
    EXPECT_EQ(values, (std::vector<int>{2, 4, 6}));
}

TEST(generator, of_references_gives_the_object_itself) {
    std::vector<int> numbers{1, 2, 3};
    const auto each = [](std::vector<int>& v) -> generator<int&> {
        for (int& n : v) co_yield n;
    };
    for (int& n : each(numbers)) n *= 10;
    EXPECT_EQ(numbers, (std::vector<int>{10, 20, 30}));
}

TEST(generator, lets_its_consumer_move_what_it_yields) {
    const auto make = []() -> generator<std::unique_ptr<int>> {
        for (int i = 0; i != 3; ++i) {
            auto p = std::make_unique<int>(i);
            co_yield std::move(p);
        }
    };
    int sum = 0;
    for (auto&& p : make()) {
        const auto mine = std::move(p);
        sum += *mine;
    }
    EXPECT_EQ(sum, 3);
}

TEST(generator, copies_a_constant_that_it_yields) {
    const std::string text(100, 'x');
    const auto make = [](const std::string& s) -> generator<std::string> {
        co_yield s;
        co_yield s;
    };
    for (auto&& s : make(text)) {
        s += "y";
        EXPECT_EQ(s.size(), 101u);
    }
    EXPECT_EQ(text.size(), 100u);
}

TEST(generator, lets_an_exception_leave_the_step_that_meets_it) {
    const auto make = []() -> generator<int> {
        co_yield 1;
        throw std::runtime_error("second");
    };
    auto g = make();
    auto i = g.begin();
    EXPECT_EQ(*i, 1);
    EXPECT_THROW(++i, std::runtime_error);
    EXPECT_TRUE(i == g.end());
}

TEST(generator, destroyed_half_way_destroys_its_locals) {
    std::string log;
    {
        const auto make = [](std::string& out) -> generator<int> {
            const trace first(out, "1");
            co_yield 1;
            const trace second(out, "2");
            co_yield 2;
            out += "went on";
        };
        auto g = make(log);
        auto i = g.begin();
        ++i;
        EXPECT_EQ(log, "");
    }
    EXPECT_EQ(log, "2 1");
}

TEST(generator, never_begun_runs_nothing) {
    std::string log;
    {
        const auto make = [](trace t, std::string& out) -> generator<int> {
            out += "ran";
            co_yield 1;
            static_cast<void>(t);
        };
        auto g = make(trace(log, "argument"), log);
        generator<int> moved = std::move(g);
        static_cast<void>(moved);
    }
    EXPECT_EQ(log, "argument");
    generator<int> none;
    EXPECT_TRUE(none.begin() == none.end());
}

TEST(generator, yields_the_elements_of_others) {
    auto tree = std::make_unique<node>(4, std::make_unique<node>(2), std::make_unique<node>(6));
    tree->left->left = std::make_unique<node>(1);
    tree->right->right = std::make_unique<node>(7);
    EXPECT_EQ(all(in_order(tree.get())), (std::vector<int>{1, 2, 4, 6, 7}));
    const auto around_none = []() -> generator<int> {
        co_yield elements_of(generator<int>());
        co_yield 5;
    };
    EXPECT_EQ(all(around_none()), std::vector<int>{5});
}

TEST(generator, yields_what_is_left_of_others_that_have_begun) {
    const auto counting = [](int from, int to) -> generator<int> {
        for (int n = from; n != to; ++n) co_yield n;
    };
    const auto nested = [&counting]() -> generator<int> {
        co_yield elements_of(counting(0, 3));
        co_yield elements_of(counting(3, 5));
        co_yield 5;
    };
    // The first of each of its parts are read before it is handed on, up to its end.
    for (int read = 0; read != 7; ++read) {
        const auto rest = [&nested, read]() -> generator<int> {
            auto g = nested();
            auto at = g.begin();
            for (int n = 1; n < read; ++n) ++at;
            co_yield -1;
            if (read == 0) g = nested();
            co_yield elements_of(std::move(g));
            co_yield 100;
        };
        std::vector<int> expected{-1};
        for (int n = read; n < 6; ++n) expected.push_back(n);
        expected.push_back(100);
        EXPECT_EQ(all(rest()), expected) << read;
    }
}

TEST(generator, nests_a_thousand_deep) {
    int expected = 0;
    for (const int n : descend(1000)) EXPECT_EQ(n, expected++);
    EXPECT_EQ(expected, 1001);
}

TEST(generator, meets_the_exception_of_a_nested_one) {
    std::string log;
    const auto inner = [](std::string& out) -> generator<int> {
        const trace t(out, "inner");
        co_yield 1;
        throw std::runtime_error("inner");
    };
    const auto outer = [&inner](std::string& out) -> generator<int> {
        bool caught = false;
        try {
            co_yield elements_of(inner(out));
        } catch (const std::runtime_error&) {
            caught = true;
        }
        if (caught) co_yield 2;
    };
    EXPECT_EQ(all(outer(log)), (std::vector<int>{1, 2}));
    EXPECT_EQ(log, "inner");
}

TEST(generator, destroyed_within_a_nested_one_destroys_both) {
    std::string log;
    {
        const auto inner = [](std::string& out) -> generator<int> {
            const trace t(out, "inner");
            co_yield 1;
            co_yield 2;
        };
        const auto outer = [&inner](std::string& out) -> generator<int> {
            const trace t(out, "outer");
            co_yield elements_of(inner(out));
        };
        auto g = outer(log);
        EXPECT_EQ(*g.begin(), 1);
    }
    EXPECT_EQ(log, "inner outer");
}

/// Their destructors do not call each other.
TEST(generator, may_be_left_at_any_depth) {
    int last = 0;
    for (const int n : naturals(0)) {
        last = n;
        if (n == 200'000) break;
    }
    EXPECT_EQ(last, 200'000);
}

TEST(generator, destroys_each_frame_once_wherever_it_is_left) {
    for (int steps = 0; steps != 6; ++steps) {
        int frames = 0;
        {
            generator<int> begun = counted(3, frames);
            auto at = begun.begin();
            if (steps % 2 == 1) ++at;
            const auto around = [](generator<int> inner) -> generator<int> {
                co_yield 100;
                co_yield elements_of(std::move(inner));
                co_yield 200;
            };
            int left = steps;
            for (const int n : around(std::move(begun))) {
                static_cast<void>(n);
                if (left-- == 0) break;
            }
        }
        EXPECT_EQ(frames, 0) << steps;
    }
}
