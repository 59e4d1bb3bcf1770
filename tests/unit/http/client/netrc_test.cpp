#include "http/client/netrc.hpp"

#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

using namespace coracle;
using namespace coracle::http;
using namespace coracle::http::detail;

namespace {

/// "user:password", or "none".
std::string found(std::string_view text, std::string_view host, std::string_view user = {}) {
    const auto c = find_netrc(text, host, user);
    if (!c) return "none";
    EXPECT_EQ(c->scheme, auth_scheme::basic);
    return c->user + ':' + std::string(c->password.reveal());
}

}  // namespace

TEST(netrc, has_an_entry_for_a_host) {
    constexpr std::string_view text =
        "machine a.org login alice password secret1\n"
        "machine b.org\n\tlogin bob\r\n\taccount x password secret2\n"
        "machine a.org login carol password secret3 machine c.org password only\n"
        "machine d.org login dave\n"
        "machine e.org\n";
    EXPECT_EQ(found(text, "a.org"), "alice:secret1");
    EXPECT_EQ(found(text, "A.ORG"), "alice:secret1");
    EXPECT_EQ(found(text, "b.org"), "bob:secret2");
    EXPECT_EQ(found(text, "c.org"), ":only");
    EXPECT_EQ(found(text, "d.org"), "dave:");
    EXPECT_EQ(found(text, "e.org"), "none");
    EXPECT_EQ(found(text, "org"), "none");
    EXPECT_EQ(found("", "a.org"), "none");
}

TEST(netrc, has_an_entry_for_a_user_of_a_host) {
    constexpr std::string_view text =
        "machine a.org login alice password secret1\n"
        "machine a.org login carol password secret3\n"
        "default login anonymous password guest\n";
    EXPECT_EQ(found(text, "a.org", "carol"), "carol:secret3");
    EXPECT_EQ(found(text, "a.org", "Carol"), "none");
    EXPECT_EQ(found(text, "a.org", "anonymous"), "anonymous:guest");
    EXPECT_EQ(found("machine a.org password x", "a.org", "dave"), "none");
}

TEST(netrc, may_have_a_default) {
    constexpr std::string_view text =
        "machine a.org login alice password x default login anonymous password guest\n"
        "machine b.org login bob password y\n";
    EXPECT_EQ(found(text, "a.org"), "alice:x");
    EXPECT_EQ(found(text, "b.org"), "anonymous:guest");  // the first that fits
    EXPECT_EQ(found(text, "z.org"), "anonymous:guest");
}

TEST(netrc, may_have_values_in_quotes) {
    EXPECT_EQ(found("machine \"a.org\" login \"two words\" password \"a\\\"b\\\\c\\n\\t\\r\\x#\"",
                    "a.org"),
              "two words:a\"b\\c\n\t\rx#");
    EXPECT_EQ(found("machine a.org login \"\" password \"\"", "a.org"), ":");
    EXPECT_EQ(found("machine a.org login in\"side password \"x\"", "a.org"), "in\"side:x");
    EXPECT_EQ(found("machine a.org login x password \"open\n", "a.org"), "none");
    EXPECT_EQ(found("machine a.org login x password \"open\\", "a.org"), "none");
    EXPECT_EQ(found("machine a.org login x password y machine b.org login \"", "a.org"), "x:y");
}

TEST(netrc, may_have_comments_and_macros) {
    constexpr std::string_view text =
        "# machine a.org login no password no\n"
        "machine a.org # the first\n"
        "  login alice # password no\n"
        "  password #secret\n"
        "macdef init\n"
        "  cd /pub\n"
        "  machine b.org login no password no\n"
        "\n"
        "machine b.org login bob password x\n"
        "macdef last\r\nmachine c.org login no password no\r\n\r\nmachine c.org login c password d";
    EXPECT_EQ(found(text, "a.org"), "alice:#secret");
    EXPECT_EQ(found(text, "b.org"), "bob:x");
    EXPECT_EQ(found(text, "c.org"), "c:d");
    EXPECT_EQ(found("macdef endless\nmachine a.org login a password b", "a.org"), "none");
}

TEST(netrc, may_be_nonsense) {
    for (const std::string_view text :
         {"machine", "machine a.org login", "login x password y", "default", "macdef", "\"", "#",
          "machine machine machine", "a b c d e f", "machine a.org password"}) {
        const std::string all = found(text, "a.org");
        EXPECT_TRUE(all == "none" || all == ":") << text << all;
    }
    std::string large;
    for (int i = 0; i != 100'000; ++i) large += "machine h" + std::to_string(i) + " login \"x\" ";
    EXPECT_EQ(found(large + "machine a.org login \"a\\\"", "a.org"), "none");
    EXPECT_EQ(found(large, "h99999"), "x:");
}

TEST(netrc, is_read_from_where_the_user_says) {
    const coracle::testing::temporary_directory folder;
    const auto path = folder.write(".netrc", "machine a.org login alice password x");
    std::filesystem::permissions(
        path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
    ::unsetenv("NETRC");
    ::setenv("HOME", folder.path().c_str(), 1);
    auto file = load_netrc();
    ASSERT_TRUE(file.has_value());
    EXPECT_EQ(file->path, path.string());
    EXPECT_FALSE(file->others_may_read);
    EXPECT_EQ(found(file->text.reveal(), "a.org"), "alice:x");

    const auto other = folder.write("other", "");
    std::filesystem::permissions(
        other, std::filesystem::perms::owner_all | std::filesystem::perms::others_read);
    ::setenv("NETRC", other.c_str(), 1);
    file = load_netrc();
    ASSERT_TRUE(file.has_value());
    EXPECT_TRUE(file->others_may_read);
    EXPECT_TRUE(file->text.empty());
    std::filesystem::permissions(
        other, std::filesystem::perms::owner_all | std::filesystem::perms::group_read);
    file = load_netrc();
    EXPECT_TRUE(file.has_value() && file->others_may_read);

    // It is a file, and nothing that could make a call wait.
    const std::string fifo = (folder.path() / "fifo").string();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    ::setenv("NETRC", fifo.c_str(), 1);
    file = load_netrc();
    EXPECT_TRUE(!file && file.error() == std::errc::invalid_argument);
    ::setenv("NETRC", other.c_str(), 1);

    folder.write("other", std::string(netrc_limit, '\n'));
    EXPECT_TRUE(load_netrc().has_value());
    folder.write("other", std::string(netrc_limit + 1, '\n'));
    EXPECT_EQ(load_netrc().error(), errc::limit_exceeded);
    ::setenv("NETRC", (folder.path() / "none").c_str(), 1);
    EXPECT_EQ(load_netrc().error(), std::errc::no_such_file_or_directory);
    ::unsetenv("NETRC");
    ::unsetenv("HOME");
    EXPECT_EQ(load_netrc().error(), std::errc::no_such_file_or_directory);
}
