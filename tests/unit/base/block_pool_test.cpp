#include "support/allocation_count.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

using coracle::block_pool;
using coracle::testing::counts_allocations;
using coracle::testing::live_allocations;

TEST(block_pool, rounds_up_to_the_sizes_that_it_has) {
    EXPECT_EQ(block_pool::rounded(1), 64u);
    EXPECT_EQ(block_pool::rounded(64), 64u);
    EXPECT_EQ(block_pool::rounded(65), 128u);
    EXPECT_EQ(block_pool::rounded(4096), 4096u);
    EXPECT_EQ(block_pool::rounded(4097), 8192u);
    EXPECT_EQ(block_pool::rounded(8193), 16384u);
    EXPECT_EQ(block_pool::rounded(256 * 1024), 256u * 1024);
    EXPECT_EQ(block_pool::rounded(256 * 1024 + 1), 256u * 1024 + 1);
    EXPECT_EQ(block_pool::rounded(0), 0u);
}

TEST(block_pool, never_gives_less_than_was_asked_for) {
    block_pool pool;
    for (std::size_t size = 1; size <= block_pool::largest; size += size / 7 + 1) {
        ASSERT_GE(block_pool::rounded(size), size);
        void* p = pool.allocate(size);
        std::memset(p, 1, size);
        pool.deallocate(p, size);
    }
}

TEST(block_pool, gives_the_block_that_came_back_last) {
    block_pool pool;
    void* a = pool.allocate(100);
    void* b = pool.allocate(100);
    EXPECT_NE(a, b);
    pool.deallocate(a, 100);
    pool.deallocate(b, 100);
    EXPECT_EQ(pool.allocate(128), b) << "the same size class";
    EXPECT_EQ(pool.allocate(65), a);
    pool.deallocate(a, 100);
    pool.deallocate(b, 100);
}

TEST(block_pool, keeps_no_more_large_blocks_than_its_bound) {
    block_pool pool;
    std::vector<void*> blocks;
    const std::ptrdiff_t before = live_allocations();
    for (int i = 0; i != 20; ++i) blocks.push_back(pool.allocate(block_pool::largest));
    for (void* p : blocks) pool.deallocate(p, block_pool::largest);
    constexpr auto most = static_cast<std::ptrdiff_t>(block_pool::large_kept / block_pool::largest);
    if (counts_allocations()) {
        // The list of the blocks is one more.
        EXPECT_LE(live_allocations() - before, most + 1);
        EXPECT_GE(live_allocations() - before, 1);
    }
    for (int i = 0; i != 20; ++i) blocks[static_cast<std::size_t>(i)] = pool.allocate(200'000);
    for (void* p : blocks) pool.deallocate(p, 200'000);
    pool.release(0);
}

TEST(block_pool, survives_trims_between_uses) {
    block_pool pool;
    std::vector<void*> blocks;
    for (int i = 0; i != 100; ++i) blocks.push_back(pool.allocate(64));
    for (void* p : blocks) pool.deallocate(p, 64);
    pool.trim();
    pool.release(1);
    void* kept = pool.allocate(64);
    EXPECT_EQ(kept, blocks.front()) << "what came back first lies deepest";
    pool.deallocate(kept, 64);
    for (int i = 0; i != 10; ++i) pool.trim();
    pool.deallocate(pool.allocate(64), 64);
}

TEST(block_pool, takes_blocks_that_another_pool_gave) {
    block_pool first;
    block_pool second;
    void* p = first.allocate(1000);
    second.deallocate(p, 1000);
    void* q = second.allocate(1000);
    EXPECT_EQ(p, q);
    first.deallocate(q, 1000);
}

TEST(allocate_block, works_without_a_loop_and_across_its_end) {
    ASSERT_EQ(coracle::detail::current_pool, nullptr);
    void* without = coracle::detail::allocate_block(100);
    void* within = nullptr;
    {
        block_pool pool;
        coracle::detail::current_pool = &pool;
        coracle::detail::deallocate_block(without, 100);
        within = coracle::detail::allocate_block(100);
        coracle::detail::current_pool = nullptr;
    }
    coracle::detail::deallocate_block(within, 100);
    void* huge = coracle::detail::allocate_block(block_pool::largest + 1);
    coracle::detail::deallocate_block(huge, block_pool::largest + 1);
}
