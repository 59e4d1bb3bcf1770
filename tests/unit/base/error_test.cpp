#include <coracle/base/error.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <sstream>
#include <type_traits>

using namespace coracle;

TEST(error, says_all_that_it_knows_in_one_line) {
    const error e = error(std::errc::connection_refused, "connect", phase::connect)
                        .on("127.0.0.1:80")
                        .on_attempt(2)
                        .after_bytes(17)
                        .retry_is_safe(true);
    EXPECT_EQ(e.message(),
              "connect 127.0.0.1:80: Connection refused, phase connect, attempt 2, "
              "bytes 17, safe to retry");
    std::ostringstream out;
    out << e;
    EXPECT_EQ(out.str(), e.message());
}

TEST(error, leaves_out_what_it_does_not_know) {
    EXPECT_EQ(error(errc::end_of_stream).message(), "the peer closed the connection");
    EXPECT_EQ(error(errc::too_slow, "receive").message(), "receive: the peer is too slow");
    EXPECT_EQ(error(errc::unknown_option).on("listen").message(), "listen: unknown option");
}

TEST(error, says_what_a_layer_knows_besides) {
    struct known final : error_details {
        void describe(std::string& line) const override { line += ", sent 7"; }
    };
    error e = error(errc::too_slow, "call", phase::send).on("a").with(std::make_shared<known>());
    EXPECT_EQ(e.after_bytes(3).message(), "call a: the peer is too slow, phase send, sent 7");
    const error copy = error(e).on("b");
    EXPECT_EQ(copy.message(), "call b: the peer is too slow, phase send, sent 7");
    EXPECT_NE(dynamic_cast<const known*>(copy.details()), nullptr);
    EXPECT_EQ(error(errc::too_slow).details(), nullptr);
}

TEST(error, stays_in_one_line_whatever_it_is_about) {
    EXPECT_EQ(error(std::errc::invalid_argument, "header").on("X\r\n\x7f\x1bY: 1").message(),
              "header X\\x0d\\x0a\\x7f\\x1bY: 1: Invalid argument");
}

TEST(error, compares_with_codes_of_every_kind) {
    const error ours(errc::limit_exceeded);
    EXPECT_TRUE(ours == errc::limit_exceeded);
    EXPECT_FALSE(ours == errc::too_slow);
    EXPECT_FALSE(ours == std::errc::timed_out);
    EXPECT_TRUE(ours == make_error_code(errc::limit_exceeded));
    EXPECT_TRUE(error(std::errc::timed_out) == std::errc::timed_out);
    const error system(std::error_code(ETIMEDOUT, std::system_category()));
    EXPECT_TRUE(system == std::errc::timed_out) << "a system code has a portable meaning";
}

TEST(error, keeps_what_was_put_into_it_when_copied) {
    const error e = error(std::errc::timed_out, "read", phase::receive).on("peer").after_bytes(3);
    const error copy = e;  // NOLINT(performance-unnecessary-copy-initialization)
    EXPECT_EQ(copy.subject(), "peer");
    EXPECT_EQ(copy.operation(), "read");
    EXPECT_EQ(copy.phase(), phase::receive);
    EXPECT_EQ(copy.bytes(), 3u);
    EXPECT_EQ(copy.attempt(), 0u);
    EXPECT_FALSE(copy.safe_to_retry());
    static_assert(std::is_nothrow_copy_constructible_v<error>);
    static_assert(std::is_nothrow_move_constructible_v<error>);
}

TEST(error, moves_to_another_phase) {
    error e(std::errc::timed_out, "request");
    EXPECT_EQ(e.in(phase::first_byte).phase(), phase::first_byte);
    EXPECT_EQ(to_string(phase::first_byte), "first byte");
    EXPECT_EQ(to_string(phase::none), "");
}

TEST(error, without_a_subject_has_an_empty_one) {
    EXPECT_EQ(error().subject(), "");
    EXPECT_EQ(error().code(), std::error_code());
}

TEST(error, ends_with_what_can_be_done_where_that_is_clear) {
    EXPECT_EQ(error(std::errc::no_space_on_device, "write").on("/a").after_bytes(7).message(),
              "write /a: No space left on device, bytes 7; free space on its file system, or write "
              "elsewhere");
    for (const auto code :
         {std::errc::file_too_large, std::errc::read_only_file_system, std::errc::io_error,
          std::errc::permission_denied, std::errc::operation_not_permitted,
          std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
          std::errc::text_file_busy, std::errc::directory_not_empty}) {
        const std::string_view what = advice(std::make_error_code(code));
        EXPECT_FALSE(what.empty());
        EXPECT_TRUE(error(code).message().ends_with(what));
    }
    EXPECT_EQ(advice(std::make_error_code(std::errc::connection_refused)), "");
    EXPECT_EQ(advice(make_error_code(errc::limit_exceeded)), "");
    EXPECT_EQ(advice({ENOSPC, std::system_category()}), advice({ENOSPC, std::generic_category()}));
}

TEST(coracle_category, has_words_for_every_error) {
    EXPECT_STREQ(coracle_category().name(), "coracle");
    for (int i = 1; i <= static_cast<int>(errc::no_value); ++i) {
        EXPECT_NE(coracle_category().message(i), "unknown error") << i;
    }
    EXPECT_EQ(coracle_category().message(1000), "unknown error");
}

TEST(exception, is_a_system_error_that_holds_the_error) {
    try {
        throw_exception(error(std::errc::timed_out, "read").on("peer"));
        FAIL() << "it must throw";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::make_error_code(std::errc::timed_out));
        const auto& ours = dynamic_cast<const exception&>(e);
        EXPECT_EQ(ours.error().subject(), "peer");
        EXPECT_EQ(ours.what(), ours.error().message());
    }
}
