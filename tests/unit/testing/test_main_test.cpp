// Runs tests that hang, die and are skipped, and reads the messages of tests/support/test_main.cpp
// and no_skipping.cpp about them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

using ::testing::HasSubstr;

struct ended_run {
    bool passed = false;
    std::string text;
};

/// Runs one of the tests below that are run by others alone.
ended_run run_disabled(const std::string& test, const std::string& environment) {
    const std::string command =
        environment + " env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX /proc/" +
        std::to_string(::getpid()) +
        "/exe --gtest_also_run_disabled_tests --gtest_filter=test_main.DISABLED_" + test + " 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    ended_run r;
    std::array<char, 4096> piece;
    while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe))
        r.text.append(piece.data(), n);
    r.passed = ::pclose(pipe) == 0;
    return r;
}

/// The output of a test that fails on purpose.
std::string output_of(const std::string& test) {
    const ended_run r = run_disabled(test, "CORACLE_TEST_LIMIT=1");
    EXPECT_FALSE(r.passed);
    return r.text;
}

[[gnu::noinline]] void hang_in_a_thread() {
    for (;;) ::pause();
}

}  // namespace

TEST(test_main, DISABLED_hangs) {
    std::thread other(hang_in_a_thread);
    other.join();
}

TEST(test_main, DISABLED_aborts) {
    std::abort();
}

TEST(test_main, DISABLED_misses_a_peer) {
    GTEST_SKIP() << "nginx is not installed";
}

TEST(test_main, DISABLED_misses_what_the_build_has_not) {
    GTEST_SKIP() << "allocations are not counted in this build";
}

TEST(test_main, ends_a_test_that_hangs_with_the_stacks_of_all_threads) {
    const std::string text = output_of("hangs");
    EXPECT_THAT(text, HasSubstr("test_main.DISABLED_hangs has run for 1 s"));
    EXPECT_THAT(text, HasSubstr("died in test_main.DISABLED_hangs"));
    EXPECT_THAT(text, HasSubstr("hang_in_a_thread"));
    EXPECT_THAT(text, HasSubstr("test_main_DISABLED_hangs_Test::TestBody"));
}

TEST(test_main, names_the_test_that_dies) {
    EXPECT_THAT(output_of("aborts"), HasSubstr("died in test_main.DISABLED_aborts\n"));
}

TEST(test_main, lets_no_test_be_skipped_where_all_peers_must_be_there) {
    EXPECT_TRUE(run_disabled("misses_a_peer", "CORACLE_REQUIRE_PEERS=0").passed);
    const ended_run required = run_disabled("misses_a_peer", "CORACLE_REQUIRE_PEERS=1");
    EXPECT_FALSE(required.passed);
    EXPECT_THAT(required.text, HasSubstr("skipped, where CORACLE_REQUIRE_PEERS is 1: nginx"));
    EXPECT_TRUE(run_disabled("misses_what_the_build_has_not", "CORACLE_REQUIRE_PEERS=1").passed);
}
