#include <coracle/base/detail/typed_slots.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

using namespace coracle;

namespace {

struct noisy {
    noisy(std::string& log, char name) : log_(&log), name_(name) {}
    ~noisy() { *log_ += name_; }
    std::string* log_;
    char name_;
};
struct first : noisy {
    using noisy::noisy;
};
struct second : noisy {
    using noisy::noisy;
};
struct thrower {
    explicit thrower(bool throws) {
        if (throws) throw std::runtime_error("no");
    }
};
struct alignas(16) aligned {
    char bytes[16];
};

TEST(typed_slots, an_empty_one_has_no_value) {
    typed_slots slots;
    EXPECT_TRUE(slots.empty());
    EXPECT_EQ(slots.find<int>(), nullptr);
}

TEST(typed_slots, a_value_is_found_by_its_type_alone) {
    arena memory;
    typed_slots slots;
    slots.emplace<int>(memory, 7);
    slots.emplace<std::string>(memory, 100u, 'x');
    ASSERT_NE(slots.find<int>(), nullptr);
    EXPECT_EQ(*slots.find<int>(), 7);
    EXPECT_EQ(*slots.find<std::string>(), std::string(100, 'x'));
    EXPECT_EQ(slots.find<unsigned>(), nullptr);
}

TEST(typed_slots, values_are_destroyed_the_youngest_first) {
    std::string log;
    arena memory;
    {
        typed_slots slots;
        slots.emplace<first>(memory, log, 'a');
        slots.emplace<second>(memory, log, 'b');
        EXPECT_EQ(log, "");
    }
    EXPECT_EQ(log, "ba");
}

TEST(typed_slots, a_replaced_value_is_destroyed_and_is_then_the_youngest) {
    std::string log;
    arena memory;
    typed_slots slots;
    slots.emplace<first>(memory, log, 'a');
    slots.emplace<second>(memory, log, 'b');
    slots.emplace<first>(memory, log, 'c');
    EXPECT_EQ(log, "a");
    slots.clear();
    EXPECT_EQ(log, "acb");
    EXPECT_TRUE(slots.empty());
}

TEST(typed_slots, replacing_takes_no_more_memory) {
    arena memory;
    typed_slots slots;
    const int* where = &slots.emplace<int>(memory, 0);
    for (int i = 1; i != 1000; ++i) {
        slots.erase<int>();
        EXPECT_EQ(slots.find<int>(), nullptr);
        EXPECT_EQ(&slots.emplace<int>(memory, i), where);
        EXPECT_EQ(&slots.emplace<int>(memory, i), where);
    }
    EXPECT_EQ(*slots.find<int>(), 999);
}

TEST(typed_slots, there_is_no_value_whose_constructor_threw) {
    arena memory;
    typed_slots slots;
    slots.emplace<thrower>(memory, false);
    EXPECT_THROW(slots.emplace<thrower>(memory, true), std::runtime_error);
    EXPECT_EQ(slots.find<thrower>(), nullptr);
    slots.emplace<thrower>(memory, false);
    EXPECT_NE(slots.find<thrower>(), nullptr);
}

TEST(typed_slots, values_are_aligned_and_may_be_large) {
    arena memory;
    typed_slots slots;
    memory.allocate(1, 1);
    const auto& a = slots.emplace<aligned>(memory);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&a) % 16, 0u);
    slots.emplace<std::array<char, 100'000>>(memory)[99'999] = 'x';
    EXPECT_EQ((*slots.find<std::array<char, 100'000>>())[99'999], 'x');
}

TEST(typed_slots, a_value_that_can_only_be_moved_is_fine) {
    arena memory;
    typed_slots slots;
    slots.emplace<std::unique_ptr<int>>(memory, std::make_unique<int>(3));
    EXPECT_EQ(**slots.find<std::unique_ptr<int>>(), 3);
}

}  // namespace
