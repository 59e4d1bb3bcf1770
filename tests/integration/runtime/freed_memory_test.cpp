// Memory that the program has freed goes back to the system.

#include "support/allocation_count.hpp"
#include "support/resident_memory.hpp"
#include "support/virtual_time.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <memory>
#include <vector>

namespace coracle {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t mebibyte = 1024 * 1024;

/// 64 MiB in small pieces, of which every thousandth stays: as after a burst of connections.
std::vector<std::unique_ptr<char[]>> leave_holes() {
    constexpr std::size_t piece = 2000;
    std::vector<std::unique_ptr<char[]>> all(64 * mebibyte / piece);
    for (auto& one : all) {
        one = std::make_unique_for_overwrite<char[]>(piece);
        std::memset(one.get(), 1, piece);
    }
    for (std::size_t i = 0; i != all.size(); ++i) {
        if (i % 1000 != 999) all[i].reset();
    }
    return all;
}

TEST(freed_memory, goes_back_to_the_system_although_some_between_is_in_use) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "memory is the sanitizer's in this build";
    auto b = make_backend(backend_kind::automatic);
    ASSERT_TRUE(b);
    const std::size_t before = testing::resident_bytes();
    const auto left = leave_holes();
    if (testing::resident_bytes() < before + 48 * mebibyte)
        GTEST_SKIP() << "the allocator keeps nothing in this build";
    (*b)->give_memory_back();
    EXPECT_LT(testing::resident_bytes(), before + 16 * mebibyte);
}

/// Counts how often it is asked.
class counting_backend final : public testing::virtual_backend {
public:
    explicit counting_backend(int& times) noexcept : times_(&times) {}
    void give_memory_back() noexcept override { ++*times_; }

private:
    int* times_;
};

TEST(freed_memory, goes_back_also_when_the_loop_has_nothing_to_do_any_more) {
    if (CORACLE_POOLS_STAND_ASIDE) GTEST_SKIP() << "there are no pools in this build";
    int times = 0;
    const logger silent;
    loop l(std::make_unique<counting_backend>(times), silent);
    bool done = false;
    detail::blocking_child<void> main(done);
    const auto burst = [&]() -> task<> {
        co_await sleep_for(11s);
        std::vector<void*> blocks;
        for (int i = 0; i != 1000; ++i) blocks.push_back(detail::allocate_block(1000));
        for (void* p : blocks) detail::deallocate_block(p, 1000);
        co_await sleep_for(11s);
        const int after_the_burst = times;
        co_await sleep_for(1h);
        // A thousand blocks are gone when they have been halved ten times, once or twice before
        // this; then it rests.
        EXPECT_GE(times - after_the_burst, 7);
        EXPECT_LE(times - after_the_burst, 20);
    };
    main.begin_on(l, detail::call_in_task(burst), "test");
    l.run_until(done);
    if (auto e = main.exception()) std::rethrow_exception(e);
}

}  // namespace
}  // namespace coracle
