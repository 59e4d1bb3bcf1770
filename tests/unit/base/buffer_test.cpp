#include <coracle/base/buffer.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

using coracle::buffer;

TEST(buffer, holds_no_block_until_it_needs_one) {
    const buffer b;
    EXPECT_FALSE(b);
    EXPECT_TRUE(b.empty());
    EXPECT_EQ(b.size(), 0u);
    EXPECT_EQ(b.capacity(), 0u);
    EXPECT_EQ(b.view(), "");
}

TEST(buffer, gives_what_was_appended_and_not_consumed) {
    buffer b;
    b.append("hello ");
    b.append("world");
    EXPECT_EQ(b.view(), "hello world");
    b.consume(6);
    EXPECT_EQ(b.view(), "world");
    EXPECT_EQ(b.size(), 5u);
    b.consume(5);
    EXPECT_TRUE(b.empty());
    EXPECT_TRUE(b) << "the block is kept";
}

TEST(buffer, takes_what_was_written_into_its_spare_room) {
    buffer b(100);
    ASSERT_GE(b.spare_size(), 100u);
    b.spare()[0] = 'x';
    b.commit(1);
    EXPECT_EQ(b.view(), "x");
}

TEST(buffer, has_a_block_of_any_size_that_there_is_memory_for) {
    for (const std::size_t none :
         {buffer::most_capacity + 1, std::size_t{1} << 32, ~std::size_t{0}}) {
        buffer b;
        EXPECT_FALSE(b.try_obtain(none)) << none;
        EXPECT_FALSE(b) << none;
    }
}

TEST(buffer, moves_what_it_holds_to_the_front_before_it_grows) {
    buffer b(64);
    b.append(std::string(60, 'a'));
    b.consume(50);
    const auto before = b.capacity();
    b.reserve_spare(50);
    EXPECT_EQ(b.capacity(), before);
    EXPECT_EQ(b.view(), std::string(10, 'a'));
    EXPECT_GE(b.spare_size(), 50u);
}

TEST(buffer, grows_by_doubling_at_least) {
    buffer b(64);
    b.append(std::string(64, 'a'));
    b.append("b");
    EXPECT_EQ(b.capacity(), 128u);
    EXPECT_EQ(b.view(), std::string(64, 'a') + 'b');
    b.append(std::string(10'000, 'c'));
    EXPECT_EQ(b.view(), std::string(64, 'a') + 'b' + std::string(10'000, 'c'));
}

TEST(buffer, appending_nothing_takes_no_block) {
    buffer b;
    b.append("");
    EXPECT_FALSE(b);
}

TEST(buffer, of_no_bytes_is_allowed) {
    buffer b(0);
    EXPECT_GE(b.capacity(), 1u);
    b.append("a");
    EXPECT_EQ(b.view(), "a");
}

TEST(buffer, is_empty_after_it_was_moved_from) {
    buffer a;
    a.append("text");
    buffer b = std::move(a);
    EXPECT_FALSE(a);  // NOLINT(bugprone-use-after-move): what it is then is promised
    EXPECT_TRUE(a.empty());
    EXPECT_EQ(b.view(), "text");
    buffer c(10);
    c = std::move(b);
    EXPECT_EQ(c.view(), "text");
    buffer& same = c;
    c = std::move(same);
    EXPECT_EQ(c.view(), "text");
}

TEST(buffer, keeps_the_block_when_cleared_and_gives_it_back_when_released) {
    buffer b;
    b.append("text");
    b.clear();
    EXPECT_TRUE(b.empty());
    EXPECT_TRUE(b);
    b.release();
    EXPECT_FALSE(b);
    EXPECT_EQ(b.capacity(), 0u);
    b.release();
}

TEST(buffer, reuses_the_blocks_of_the_pool_of_its_thread) {
#if CORACLE_POOLS_STAND_ASIDE
    GTEST_SKIP() << "the pools stand aside in this build";
#else
    coracle::block_pool pool;
    auto* before = std::exchange(coracle::detail::current_pool, &pool);
    const char* first = nullptr;
    {
        const buffer b(1000);
        first = b.data();
    }
    {
        const buffer b(1000);
        EXPECT_EQ(b.data(), first);
    }
    coracle::detail::current_pool = before;
#endif
}
