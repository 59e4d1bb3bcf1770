#include "http/files/compressed_cache.hpp"

#include "support/allocation_count.hpp"
#include "support/roadblock.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gtest/gtest.h>

#include <vector>

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::roadblock;
using coracle::testing::temporary_directory;
using http::content_coding;
using http::detail::compressed_cache;

namespace {

runtime_options one_thread_for_offload() {
    runtime_options o;
    o.loops = 1;
    o.offload_threads = 1;
    o.file_threads = 0;  // files share it
    return o;
}

class compressed_cache_test : public ::testing::Test {
protected:
    fs::plain_file open(const char* name) const { return *fs::open_beneath(root_, name); }

    static compressed_cache::key key_of(const fs::plain_file& f) {
        return {f.status(), content_coding::gzip};
    }

    // From the cache, on a loop of its own.
    static compressed_cache::content get(compressed_cache& cache, const fs::plain_file& file) {
        compressed_cache::content made;
        const auto main = [&]() -> task<> { made = co_await cache.get(key_of(file), file); };
        block_on(main);
        return made;
    }

    const temporary_directory all_;
    const fs::directory root_ = *fs::directory::open(all_.path().string());
};

}  // namespace

TEST_F(compressed_cache_test, compresses_once_while_many_wait) {
    all_.write("a.txt", std::string(100'000, 'a'));
    compressed_cache cache(1'000'000);
    const fs::plain_file file = open("a.txt");
    const auto key = key_of(file);
    std::vector<compressed_cache::content> made;
    const auto main = [&]() -> task<> {
        std::vector<task<>> all;
        const auto one = [&]() -> task<> {
            auto mine = co_await cache.get(key, file);
            made.push_back(std::move(mine));
        };
        for (int i = 0; i != 20; ++i) all.push_back(one());
        co_await when_all(std::move(all));
    };
    block_on(main);
    ASSERT_EQ(made.size(), 20u);
    ASSERT_NE(made.front(), nullptr);
    EXPECT_LT(made.front()->size(), 1000u);
    for (const auto& c : made) EXPECT_EQ(c, made.front());
    EXPECT_EQ(*cache.find(key), made.front());
}

TEST_F(compressed_cache_test, compresses_no_more_files_at_a_time_than_the_limit) {
    constexpr std::size_t most = compressed_cache::most_at_once;
    compressed_cache cache(1'000'000);
    std::vector<fs::plain_file> files;
    for (std::size_t i = 0; i != most + 1; ++i) {
        const std::string name = std::to_string(i);
        all_.write(name, std::string(5000, 'a'));
        files.push_back(open(name.c_str()));
    }
    std::vector<compressed_cache::content> made(most + 1);
    roadblock block;
    runtime rt(one_thread_for_offload());
    rt.run([&](loop&) -> task<> {
        const auto blocks = [&] { block.wait(); };
        std::vector<task<>> all;
        const auto first = [&]() -> task<> { co_await offload(blocks); };
        const auto one = [&](std::size_t i) -> task<> {
            made[i] = co_await cache.get(key_of(files[i]), files[i]);
            // The last is turned away at once, and lets the others go.
            if (i == most) block.open();
        };
        all.push_back(first());
        for (std::size_t i = 0; i != most + 1; ++i) all.push_back(one(i));
        co_await when_all(std::move(all));
    });
    for (std::size_t i = 0; i != most; ++i) EXPECT_NE(made[i], nullptr) << i;
    EXPECT_EQ(made[most], nullptr);
    EXPECT_NE(get(cache, files[most]), nullptr);
}

TEST_F(compressed_cache_test, lets_go_who_is_cancelled_while_another_compresses) {
    all_.write("a.txt", std::string(100'000, 'a'));
    compressed_cache cache(1'000'000);
    const fs::plain_file file = open("a.txt");
    compressed_cache::content made;
    bool waited_to_the_end = false;
    roadblock block;
    runtime rt(one_thread_for_offload());
    rt.run([&](loop&) -> task<> {
        const auto blocks = [&] { block.wait(); };
        const auto leave = [&](task_group& g) -> task<> {
            g.spawn([&]() -> task<> {
                static_cast<void>(co_await cache.get(key_of(file), file));
                waited_to_the_end = true;
            });
            co_await yield();
            g.cancel();
        };
        std::vector<task<>> all;
        const auto first = [&]() -> task<> { co_await offload(blocks); };
        const auto compress = [&]() -> task<> { made = co_await cache.get(key_of(file), file); };
        const auto wait = [&]() -> task<> {
            co_await with_task_group(leave);
            block.open();
        };
        all.push_back(first());
        all.push_back(compress());
        all.push_back(wait());
        co_await when_all(std::move(all));
    });
    EXPECT_FALSE(block.gave_up()) << "the loop was held";
    EXPECT_FALSE(waited_to_the_end);
    EXPECT_NE(made, nullptr);
}

TEST_F(compressed_cache_test, lets_all_go_wherever_memory_fails) {
    if (!coracle::testing::counts_allocations()) {
        GTEST_SKIP() << "no allocation fails in this build";
    }
    all_.write("a.txt", std::string(5000, 'a'));
    const fs::plain_file file = open("a.txt");
    compressed_cache measure(1'000'000);
    ASSERT_NE(get(measure, file), nullptr);
    bool none_failed = false;
    for (std::size_t n = 1; !none_failed && !HasFailure(); ++n) {
        compressed_cache cache(1'000'000);
        runtime rt(one_thread_for_offload());
        rt.run([&](loop&) -> task<> {
            const auto fail = [n] { coracle::testing::fail_allocation(n); };
            const auto end = [&] {
                none_failed = coracle::testing::allocation_will_fail();
                coracle::testing::fail_allocation(0);
            };
            co_await offload(fail);
            const auto one = [&]() -> task<> {
                try {
                    static_cast<void>(co_await cache.get(key_of(file), file));
                } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): that one alone
                }
            };
            const auto both = [&] { return when_all(one(), one()); };
            EXPECT_TRUE(co_await as_result(with_timeout(10s, both))) << n;
            co_await offload(end);
        });
        const bool is_kept = cache.find(key_of(file)).has_value();
        EXPECT_EQ(cache.bytes(), is_kept ? measure.bytes() : 0) << n;
    }
}

TEST_F(compressed_cache_test, keeps_what_fits_and_nothing_that_is_a_byte_too_large) {
    all_.write("a.txt", std::string(5000, 'a'));
    const fs::plain_file file = open("a.txt");
    compressed_cache large(1'000'000);
    ASSERT_NE(get(large, file), nullptr);
    const std::size_t cost = large.bytes();
    for (const std::size_t limit : {cost - 1, cost, cost + 1}) {
        compressed_cache cache(limit);
        EXPECT_NE(get(cache, file), nullptr);
        EXPECT_EQ(cache.find(key_of(file)).has_value(), limit >= cost);
        EXPECT_LE(cache.bytes(), limit);
    }
}

TEST_F(compressed_cache_test, lets_the_least_recently_used_go_first) {
    for (const char* name : {"a", "b", "c"}) all_.write(name, std::string(5000, 'a'));
    const fs::plain_file a = open("a");
    const fs::plain_file b = open("b");
    const fs::plain_file c = open("c");
    compressed_cache measure(1'000'000);
    static_cast<void>(get(measure, a));
    compressed_cache cache(measure.bytes() * 2);
    static_cast<void>(get(cache, a));
    const auto held = get(cache, b);
    EXPECT_TRUE(cache.find(key_of(a)));
    static_cast<void>(get(cache, c));
    EXPECT_TRUE(cache.find(key_of(a)));
    EXPECT_TRUE(cache.find(key_of(c)));
    EXPECT_FALSE(cache.find(key_of(b)));
    // A holder may go on with it.
    EXPECT_FALSE(held->empty());
}

TEST_F(compressed_cache_test, remembers_what_does_not_become_smaller) {
    std::string noise;
    std::uint64_t x = 1;
    for (int i = 0; i != 5000; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        noise += static_cast<char>(x >> 56);
    }
    all_.write("noise", noise);
    compressed_cache cache(1'000'000);
    const fs::plain_file file = open("noise");
    EXPECT_EQ(get(cache, file), nullptr);
    ASSERT_TRUE(cache.find(key_of(file)));
    EXPECT_EQ(*cache.find(key_of(file)), nullptr);
}

TEST_F(compressed_cache_test, keeps_nothing_of_a_file_that_changes_meanwhile) {
    for (const std::size_t size : {std::size_t{4000}, std::size_t{6000}}) {
        all_.write("a.txt", std::string(5000, 'a'));
        const fs::plain_file file = open("a.txt");
        all_.write("a.txt", std::string(size, 'b'));
        compressed_cache cache(1'000'000);
        EXPECT_EQ(get(cache, file), nullptr) << size;
        EXPECT_FALSE(cache.find(key_of(file))) << size;
    }
}
