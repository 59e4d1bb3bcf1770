#include "base/unprintable.hpp"

#include <coracle/base/log.hpp>

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

using namespace coracle;

namespace {

void keep(void* user, log_level level, log_layer layer, std::string_view text) {
    auto& out = *static_cast<std::string*>(user);
    out += std::string(to_string(level)) + ' ' + std::string(to_string(layer)) + ": " +
           std::string(text) + '\n';
}

}  // namespace

// Each in a process of its own, since the environment is read once.
class logger_death : public ::testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

    /// Makes two new loggers write in a program with this CORACLE_LOG; without one when null.
    [[noreturn]] static void log_with(const char* text) {
        if (text == nullptr)
            ::unsetenv("CORACLE_LOG");
        else
            ::setenv("CORACLE_LOG", text, 1);
        for (const log_layer layer : {log_layer::http, log_layer::net}) {
            const logger log;
            log.write(layer, log_level::debug, "details");
            log.write(layer, log_level::warning, "trouble");
        }
        std::_Exit(0);
    }
};

TEST_F(logger_death, writes_warnings_to_standard_error_by_default) {
    EXPECT_EXIT(log_with(nullptr), ::testing::ExitedWithCode(0),
                "^warning http: trouble\nwarning net: trouble\n$");
}

TEST_F(logger_death, takes_its_levels_from_the_environment) {
    EXPECT_EXIT(log_with("off"), ::testing::ExitedWithCode(0), "^$");
    EXPECT_EXIT(log_with("off,net=debug"), ::testing::ExitedWithCode(0),
                "^debug net: details\nwarning net: trouble\n$");
}

TEST_F(logger_death, reports_once_an_environment_that_it_cannot_read) {
    EXPECT_EXIT(log_with("htp=debug"), ::testing::ExitedWithCode(0),
                "^warning runtime: CORACLE_LOG: cannot read 'htp=debug' \\(levels: trace debug "
                "[^\n]*\nwarning http: trouble\nwarning net: trouble\n$");
}

TEST(logger, writes_from_the_level_that_it_is_made_with) {
    const logger log(log_level::error);
    EXPECT_FALSE(log.enabled(log_layer::http, log_level::warning));
    ::testing::internal::CaptureStderr();
    log.write(log_layer::http, log_level::warning, "no");
    log.write(log_layer::http, log_level::error, "yes");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "error http: yes\n");
}

TEST(logger, drops_everything_without_a_sink) {
    logger log(log_level::trace);
    log.set_sink(nullptr, nullptr);
    ::testing::internal::CaptureStderr();
    log.write(log_layer::http, log_level::error, "nowhere");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(logger, passes_on_what_is_as_serious_as_its_level) {
    std::string out;
    logger log;
    log.set_sink(&keep, &out);
    log.set_level(log_level::warning);
    log.write(log_layer::net, log_level::info, "no");
    log.write(log_layer::net, log_level::warning, "yes");
    log.write(log_layer::tls, log_level::error, "yes");
    EXPECT_EQ(out, "warning net: yes\nerror tls: yes\n");
}

TEST(logger, has_a_level_for_each_layer) {
    logger log;
    ASSERT_TRUE(log.configure("warning,http=debug,net=off"));
    EXPECT_TRUE(log.enabled(log_layer::http, log_level::debug));
    EXPECT_FALSE(log.enabled(log_layer::http, log_level::trace));
    EXPECT_FALSE(log.enabled(log_layer::net, log_level::error));
    EXPECT_TRUE(log.enabled(log_layer::smtp, log_level::warning));
    EXPECT_FALSE(log.enabled(log_layer::smtp, log_level::info));
    ASSERT_TRUE(log.configure("trace"));
    EXPECT_TRUE(log.enabled(log_layer::net, log_level::trace));
}

TEST(logger, refuses_words_that_it_does_not_know) {
    for (const char* text : {"loud", "http=loud", "htp=debug", "=", "http=", ",info", "http debug",
                             "INFO", "info=info"}) {
        logger log(log_level::off);
        EXPECT_FALSE(log.configure(text)) << text;
        EXPECT_FALSE(log.enabled(log_layer::http, log_level::error)) << text;
    }
    logger log(log_level::off);
    EXPECT_FALSE(log.configure("http=debug,oops,net=debug"));
    EXPECT_TRUE(log.enabled(log_layer::http, log_level::debug)) << "what stands before is applied";
    EXPECT_FALSE(log.enabled(log_layer::net, log_level::error));
    EXPECT_TRUE(log.configure(""));
}

TEST(logger, knows_a_name_for_every_level_and_layer) {
    for (unsigned i = 0; i != log_layers; ++i) {
        logger log;
        const auto layer = static_cast<log_layer>(i);
        ASSERT_TRUE(log.configure(std::string(to_string(layer)) + "=info"));
        EXPECT_TRUE(log.enabled(layer, log_level::info));
    }
    EXPECT_EQ(to_string(log_level::off), "off");
}

TEST(log_to_stderr, writes_one_line) {
    ::testing::internal::CaptureStderr();
    log_to_stderr(nullptr, log_level::info, log_layer::http, "listening");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "info http: listening\n");
}

TEST(log_to_stderr, lets_no_text_end_its_line_or_command_a_terminal) {
    ::testing::internal::CaptureStderr();
    log_to_stderr(nullptr, log_level::error, log_layer::http,
                  "x\nerror http: forged\r\x1b[2J\x7f\t");
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "error http: x\\x0aerror http: forged\\x0d\\x1b[2J\\x7f\\x09\n");
}

TEST(log_to_stderr, cuts_a_line_that_a_pipe_would_not_take_as_a_whole) {
    ::testing::internal::CaptureStderr();
    log_to_stderr(nullptr, log_level::info, log_layer::http, std::string(10'000, '\1'));
    const std::string line = ::testing::internal::GetCapturedStderr();
    EXPECT_LE(line.size(), log_line);
    EXPECT_TRUE(line.ends_with("...\n"));
}

TEST(log_to_stderr, sums_up_equal_lines_when_a_logger_ends) {
    ::testing::internal::CaptureStderr();
    {
        const logger log(log_level::warning);
        for (int i = 0; i != 25; ++i) log.write(log_layer::http, log_level::error, "again");
    }
    EXPECT_EQ(::testing::internal::GetCapturedStderr(),
              "error http: again\nerror http: again (10 times)\nerror http: again (25 times)\n");
}

TEST(escape_unprintable, leaves_text_alone) {
    using detail::escape_unprintable;
    for (const std::string_view text : {"", " plain ~", "gr\xc3\xbc\xc3\x9f \xe2\x82\xac",
                                        "\xf0\x9f\x9b\xb6", "\xc2\xa0", "\\x0a"}) {
        EXPECT_EQ(escape_unprintable(text), text);
    }
}

TEST(escape_unprintable, writes_controls_and_what_is_no_text_in_hex) {
    using detail::escape_unprintable;
    EXPECT_EQ(escape_unprintable(std::string_view("\0\x1f", 2)), "\\x00\\x1f");
    // U+009B, which begins a command like ESC [, as UTF-8 and as Latin-1.
    EXPECT_EQ(escape_unprintable("\xc2\x9b"), "\\xc2\\x9b");
    EXPECT_EQ(escape_unprintable("a\x9b"), "a\\x9b");
    // Cut short, overlong, and a surrogate.
    EXPECT_EQ(escape_unprintable("\xe2\x82"), "\\xe2\\x82");
    EXPECT_EQ(escape_unprintable("\xc0\x8a"), "\\xc0\\x8a");
    EXPECT_EQ(escape_unprintable("\xed\xa0\x80z"), "\\xed\\xa0\\x80z");
}
