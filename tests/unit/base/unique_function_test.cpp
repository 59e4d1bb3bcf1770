#include <coracle/base/unique_function.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

using coracle::unique_function;

namespace {

int doubled(int n) {
    return 2 * n;
}

struct counted {
    explicit counted(int& n) : alive(&n) { ++*alive; }
    counted(const counted& other) : alive(other.alive) { ++*alive; }
    counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
    counted& operator=(const counted&) = delete;
    ~counted() { --*alive; }
    int operator()() const { return *alive; }
    int* alive;
};

}  // namespace

TEST(unique_function, takes_a_function_by_its_name) {
    unique_function<int(int)> f(doubled);
    EXPECT_EQ(f(4), 8);
}

TEST(unique_function, calls_what_it_holds) {
    unique_function<int(int)> f = &doubled;
    EXPECT_EQ(f(4), 8);
    f = [](int n) { return n + 1; };
    EXPECT_EQ(f(4), 5);
    int sum = 0;
    unique_function<void(int)> add = [&sum](int n) { sum += n; };
    add(3);
    add(4);
    EXPECT_EQ(sum, 7);
}

TEST(unique_function, takes_nothing_whose_result_would_be_lost) {
    static_assert(std::is_constructible_v<unique_function<int(int)>, int (*)(int)>);
    static_assert(std::is_constructible_v<unique_function<long(int)>, int (*)(int)>);
    static_assert(!std::is_constructible_v<unique_function<void(int)>, int (*)(int)>);
    static_assert(!std::is_constructible_v<unique_function<int(int)>, void (*)(int)>);
}

TEST(unique_function, is_empty_by_default_and_after_a_move) {
    unique_function<int()> f;
    EXPECT_FALSE(f);
    EXPECT_FALSE(unique_function<int()>(nullptr));
    f = [] { return 1; };
    unique_function<int()> g = std::move(f);
    EXPECT_FALSE(f);  // NOLINT(bugprone-use-after-move): what it is then is promised
    EXPECT_EQ(g(), 1);
    g.reset();
    EXPECT_FALSE(g);
}

TEST(unique_function, holds_what_can_only_be_moved) {
    auto p = std::make_unique<int>(5);
    unique_function<int()> f = [p = std::move(p)] { return *p; };
    const auto g = std::make_unique<unique_function<int()>>(std::move(f));
    EXPECT_EQ((*g)(), 5);
}

TEST(unique_function, destroys_what_it_holds_exactly_once) {
    int alive = 0;
    {
        unique_function<int()> small = counted(alive);
        EXPECT_EQ(small(), 1);
        unique_function<int()> moved = std::move(small);
        EXPECT_EQ(alive, 1);
        std::array<char, 200> ballast{};
        unique_function<int()> large = [c = counted(alive), ballast] { return c() + ballast[0]; };
        EXPECT_EQ(large(), 2);
        moved = std::move(large);
        EXPECT_EQ(alive, 1);
        auto& same = moved;
        moved = std::move(same);
        EXPECT_EQ(moved(), 1);
    }
    EXPECT_EQ(alive, 0);
}

TEST(unique_function, passes_references_and_what_can_only_be_moved) {
    unique_function<std::string&(std::string&)> self = [](std::string& s) -> std::string& {
        return s;
    };
    std::string text = "text";
    EXPECT_EQ(&self(text), &text);
    unique_function<std::unique_ptr<int>(std::unique_ptr<int>)> pass = [](std::unique_ptr<int> p) {
        return p;
    };
    EXPECT_EQ(*pass(std::make_unique<int>(3)), 3);
}

TEST(unique_function, lets_exceptions_through) {
    unique_function<void()> f = [] { throw std::runtime_error("no"); };
    EXPECT_THROW(f(), std::runtime_error);
    EXPECT_TRUE(f);
}
