#include <coracle/base/arena.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

using coracle::arena;

TEST(arena, gives_memory_that_does_not_overlap) {
    arena a;
    std::vector<unsigned char*> all;
    for (unsigned i = 0; i != 500; ++i) {
        auto* p = static_cast<unsigned char*>(a.allocate(i % 37 + 1));
        std::memset(p, static_cast<int>(i & 0xff), i % 37 + 1);
        all.push_back(p);
    }
    for (unsigned i = 0; i != 500; ++i) {
        for (unsigned k = 0; k != i % 37 + 1; ++k) ASSERT_EQ(all[i][k], i & 0xff);
    }
}

TEST(arena, aligns_as_it_is_asked) {
    arena a;
    for (const std::size_t alignment : {1u, 2u, 4u, 8u, 16u, 1u, 16u, 1u, 8u}) {
        const auto p = reinterpret_cast<std::uintptr_t>(a.allocate(3, alignment));
        EXPECT_EQ(p % alignment, 0u);
    }
    for (int i = 0; i != 100; ++i) {
        a.allocate(1, 1);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.allocate_array<std::uint64_t>(7)) % 8, 0u);
    }
}

TEST(arena, takes_pieces_that_are_larger_than_any_chunk) {
    arena a;
    const std::string small = "small";
    const std::string large(300'000, 'x');
    const auto first = a.copy(small);
    const auto second = a.copy(large);
    const auto third = a.copy(small);
    EXPECT_EQ(first, small);
    EXPECT_EQ(second, large);
    EXPECT_EQ(third, small);
}

TEST(arena, copies_an_empty_text_without_taking_memory) {
    arena a;
    EXPECT_EQ(a.copy("").data(), nullptr);
}

TEST(arena, begins_again_in_its_first_chunk_when_reset) {
    arena a;
    void* first = a.allocate(100);
    a.allocate(100'000);
    a.reset();
    EXPECT_EQ(a.allocate(100), first);
    a.release();
    a.reset();
    EXPECT_NE(a.allocate(1), nullptr);
}

TEST(arena, hands_its_memory_over_when_moved) {
    arena a;
    const auto text = a.copy("text");
    arena b = std::move(a);
    EXPECT_EQ(text, "text");
    EXPECT_EQ(a.copy("more"), "more");  // NOLINT(bugprone-use-after-move): empty, and usable
    b.copy("other");
    b = std::move(a);
    EXPECT_EQ(b.copy("last"), "last");
}
