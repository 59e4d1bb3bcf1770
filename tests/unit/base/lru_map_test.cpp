#include "base/lru_map.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

namespace coracle::detail {
namespace {

using map = lru_map<std::string, std::string>;

/// Takes out everything, used longest ago first.
std::string taken(map& of) {
    std::string all;
    while (!of.empty()) all += of.take_oldest();
    return all;
}

TEST(lru_map, gives_the_oldest_first) {
    map m;
    m.put("a", "1");
    m.put("b", "2");
    m.put("c", "3");
    EXPECT_EQ(m.size(), 3U);
    EXPECT_EQ(m.oldest(), "1");
    EXPECT_EQ(taken(m), "123");
    EXPECT_EQ(m.size(), 0U);
}

TEST(lru_map, counts_finding_and_replacing_as_uses) {
    map m;
    m.put("a", "1");
    m.put("b", "2");
    m.put("c", "3");
    ASSERT_NE(m.use(std::string_view("a")), nullptr);
    m.put("b", "4");
    EXPECT_EQ(m.size(), 3U);
    EXPECT_EQ(taken(m), "314");
}

TEST(lru_map, lets_a_value_be_changed_in_its_place) {
    map m;
    std::string& first = m.put("a", "1");
    for (char c = 'b'; c < 'z'; ++c) m.put(std::string(1, c), "");
    EXPECT_EQ(m.use("a"), &first);
    first = "9";
    EXPECT_EQ(*m.use("a"), "9");
}

TEST(lru_map, takes_an_entry_out_wherever_it_stands) {
    map m;
    m.put("a", "1");
    m.put("b", "2");
    m.put("c", "3");
    EXPECT_EQ(m.take("b"), "2");
    EXPECT_FALSE(m.take("b").has_value());
    EXPECT_EQ(m.use("b"), nullptr);
    m.put("b", "5");
    EXPECT_EQ(taken(m), "135");
}

TEST(lru_map, can_be_filled_again_when_cleared) {
    lru_map<int, std::unique_ptr<int>> m;
    m.put(1, std::make_unique<int>(1));
    m.clear();
    EXPECT_TRUE(m.empty());
    m.put(2, std::make_unique<int>(2));
    m.put(3, std::make_unique<int>(3));
    EXPECT_EQ(*m.take_oldest(), 2);
    EXPECT_EQ(*m.take_oldest(), 3);
}

}  // namespace
}  // namespace coracle::detail
