// Runs tests that hang and die, and reads the messages of tests/support/test_main.cpp about them.

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

/// The output of this program when it runs one of the tests below that fail on purpose.
std::string output_of(const std::string& test) {
    const std::string command =
        "CORACLE_TEST_LIMIT=1 env -u GTEST_TOTAL_SHARDS -u GTEST_SHARD_INDEX /proc/" +
        std::to_string(::getpid()) +
        "/exe --gtest_also_run_disabled_tests --gtest_filter=test_main.DISABLED_" + test + " 2>&1";
    FILE* const pipe = ::popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string text;
    std::array<char, 4096> piece;
    while (const std::size_t n = std::fread(piece.data(), 1, piece.size(), pipe))
        text.append(piece.data(), n);
    EXPECT_NE(::pclose(pipe), 0);
    return text;
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
