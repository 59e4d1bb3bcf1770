#include "http/h2/priority.hpp"

#include <gtest/gtest.h>

using coracle::http::h2::parse_priority;
using coracle::http::h2::priority;

namespace {

TEST(h2_priority, reads_urgency_and_incremental) {
    EXPECT_EQ(parse_priority(""), (priority{3, false}));
    EXPECT_EQ(parse_priority("u=0"), (priority{0, false}));
    EXPECT_EQ(parse_priority("u=7, i"), (priority{7, true}));
    EXPECT_EQ(parse_priority("i, u=1"), (priority{1, true}));
    EXPECT_EQ(parse_priority("  u=5 ,\ti=?1 "), (priority{5, true}));
    EXPECT_EQ(parse_priority("i=?0"), (priority{3, false}));
    EXPECT_EQ(parse_priority("u=1, u=2"), (priority{2, false})) << "the last one counts";
}

TEST(h2_priority, ignores_members_that_it_does_not_know_or_that_have_another_type) {
    EXPECT_EQ(parse_priority("x, u=2"), (priority{2, false}));
    EXPECT_EQ(parse_priority("a=\"u=6, i\", u=2"), (priority{2, false}));
    EXPECT_EQ(parse_priority("u=8"), (priority{3, false}));
    EXPECT_EQ(parse_priority("u=-1"), (priority{3, false}));
    EXPECT_EQ(parse_priority("u=10"), (priority{3, false}));
    EXPECT_EQ(parse_priority("i=1"), (priority{3, false}));
    EXPECT_EQ(parse_priority("u=2;x=1, i;y"), (priority{2, true}));
}

TEST(h2_priority, takes_the_default_where_the_value_is_no_dictionary) {
    for (const char* bad : {"u=1,", "=1", "u=", "U=1", "u=1 i", ", u=1", "1"}) {
        EXPECT_EQ(parse_priority(bad), priority{}) << bad;
    }
}

}  // namespace
