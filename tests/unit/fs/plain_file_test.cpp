#include "fs/file_text.hpp"
#include "runtime/backend/statx_status.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/plain_file.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>

using namespace coracle;
using coracle::testing::temporary_directory;
using fs::beneath_method;

namespace {

/// A root with files in it, secrets beside it, and every kind of thing that must not be served.
class open_beneath_test : public ::testing::TestWithParam<beneath_method> {
protected:
    open_beneath_test() {
        all_.write("secret", "outside");
        all_.write("root/a.txt", "inside");
        all_.write("root/dir/b.txt", "deeper");
        std::filesystem::create_symlink("../secret", root_path() / "relative_escape");
        std::filesystem::create_symlink(all_.path() / "secret", root_path() / "absolute_escape");
        std::filesystem::create_directory_symlink("..", root_path() / "parent");
        std::filesystem::create_symlink("loop", root_path() / "loop");
        std::filesystem::create_symlink("dir/b.txt", root_path() / "inner");
        std::filesystem::create_directory_symlink("dir", root_path() / "inner_dir");
        std::filesystem::create_symlink("/proc/self/root", root_path() / "magic");
        EXPECT_EQ(::mkfifo((root_path() / "fifo").c_str(), 0600), 0);
        auto opened = fs::directory::open(root_path());
        if (!opened) throw exception(opened.error());
        root_.emplace(std::move(*opened));
    }

    std::filesystem::path root_path() const { return all_.path() / "root"; }

    std::expected<fs::plain_file, error> open(std::string_view path) const {
        return fs::open_beneath(*root_, path, GetParam());
    }

    std::string failure(std::string_view path) const {
        auto f = open(path);
        return f ? "opened" : f.error().code().message();
    }

    static std::string message(std::errc e) { return std::make_error_code(e).message(); }

    std::string content(std::string_view path) const {
        auto f = open(path);
        if (!f) return f.error().message();
        std::string text(static_cast<std::size_t>(f->status().size), '\0');
        auto n = f->read_at(0, text);
        return n && *n == text.size() ? text : "short";
    }

    temporary_directory all_;
    std::optional<fs::directory> root_;
};

std::string name_of(const ::testing::TestParamInfo<beneath_method>& info) {
    constexpr std::array names{"automatic", "kernel", "walk"};
    return names[static_cast<std::size_t>(info.param)];
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(every_way, open_beneath_test,
                         ::testing::Values(beneath_method::automatic, beneath_method::kernel,
                                           beneath_method::walk),
                         name_of);

TEST_P(open_beneath_test, opens_files_and_directories) {
    EXPECT_EQ(content("a.txt"), "inside");
    EXPECT_EQ(content("dir/b.txt"), "deeper");
    EXPECT_EQ(content("dir//./b.txt"), "deeper");
    for (const char* path : {"", ".", "dir", "dir/"}) {
        auto d = open(path);
        ASSERT_TRUE(d) << path << ": " << d.error().message();
        EXPECT_EQ(d->status().kind, file_kind::directory) << path;
    }
}

TEST_P(open_beneath_test, tells_size_time_and_identity) {
    const auto path = root_path() / "a.txt";
    const timespec times[2] = {{0, UTIME_OMIT}, {1'600'000'000, 123'456'789}};
    ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    struct stat expected{};
    ASSERT_EQ(::stat(path.c_str(), &expected), 0);
    auto f = open("a.txt");
    ASSERT_TRUE(f);
    EXPECT_EQ(f->status().kind, file_kind::regular);
    EXPECT_EQ(f->status().size, 6u);
    EXPECT_EQ(f->status().modified_ns, 1'600'000'000'123'456'789);
    EXPECT_EQ(f->status().inode, expected.st_ino);
    EXPECT_EQ(f->status().device, expected.st_dev);
}

TEST_P(open_beneath_test, refuses_every_way_out) {
    const std::string out = message(std::errc::cross_device_link);
    for (const char* path : {"..", "../secret", "dir/../../secret", "dir/..", "/", "/etc/passwd",
                             "a.txt/../../secret", "//etc/passwd", "./../secret"}) {
        EXPECT_EQ(failure(path), out) << path;
    }
    for (const char* path : {"relative_escape", "absolute_escape", "parent/secret", "parent",
                             "parent/root/a.txt", "magic/etc/passwd", "loop", "loop/x"}) {
        EXPECT_FALSE(open(path)) << path;
    }
}

TEST_P(open_beneath_test, never_stops_at_a_nul) {
    using namespace std::string_view_literals;
    EXPECT_EQ(failure("a.txt\0"sv), message(std::errc::no_such_file_or_directory));
    EXPECT_EQ(failure("a.txt\0.html"sv), message(std::errc::no_such_file_or_directory));
    EXPECT_EQ(failure("\0"sv), message(std::errc::no_such_file_or_directory));
}

TEST_P(open_beneath_test, refuses_what_is_no_file_without_blocking) {
    const std::string special = message(std::errc::no_such_device_or_address);
    EXPECT_EQ(failure("fifo"), special);

    const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(fd, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    const std::string path = root_path() / "socket";
    ASSERT_LT(path.size(), sizeof at.sun_path);
    path.copy(at.sun_path, path.size());
    ASSERT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    EXPECT_EQ(failure("socket"), special);
    ::close(fd);

    auto dev = fs::directory::open("/dev");
    ASSERT_TRUE(dev);
    auto null = fs::open_beneath(*dev, "null", GetParam());
    ASSERT_FALSE(null);
    EXPECT_EQ(null.error(), std::errc::no_such_device_or_address);
}

TEST_P(open_beneath_test, says_what_is_missing_as_the_system_does) {
    EXPECT_EQ(failure("nothing"), message(std::errc::no_such_file_or_directory));
    EXPECT_EQ(failure("nothing/a"), message(std::errc::no_such_file_or_directory));
    EXPECT_EQ(failure("a.txt/"), message(std::errc::not_a_directory));
    EXPECT_EQ(failure("a.txt/b"), message(std::errc::not_a_directory));
    EXPECT_EQ(failure(std::string(300, 'x')), message(std::errc::filename_too_long));
}

TEST_P(open_beneath_test, follows_links_that_stay_beneath_only_with_the_kernel) {
    const bool follows = GetParam() != beneath_method::walk;
    if (GetParam() == beneath_method::automatic && failure("inner") != "opened") {
        GTEST_SKIP() << "no openat2 here";
    }
    EXPECT_EQ(content("inner") == "deeper", follows);
    EXPECT_EQ(content("inner_dir/b.txt") == "deeper", follows);
}

TEST_P(open_beneath_test, keeps_to_the_directory_that_was_opened) {
    std::filesystem::rename(root_path(), all_.path() / "moved");
    EXPECT_EQ(content("a.txt"), "inside");
}

TEST_P(open_beneath_test, leaks_no_descriptor) {
    const std::size_t before = coracle::testing::open_descriptors();
    for (const char* path : {"a.txt", "dir/b.txt", "dir/", "fifo", "nothing", "parent/secret",
                             "dir/nothing", "../secret", "loop"}) {
        (void)open(path);
    }
    EXPECT_EQ(coracle::testing::open_descriptors(), before);
}

TEST(file, reads_at_an_offset_up_to_its_end) {
    const temporary_directory all;
    all.write("f", "0123456789");
    auto root = fs::directory::open(all.path());
    ASSERT_TRUE(root);
    auto f = fs::open_beneath(*root, "f");
    ASSERT_TRUE(f);
    char bytes[6];
    EXPECT_EQ(f->read_at(2, bytes), 6u);
    EXPECT_EQ(std::string_view(bytes, 6), "234567");
    EXPECT_EQ(f->read_at(8, bytes), 2u);
    EXPECT_EQ(f->read_at(10, bytes), 0u);
    EXPECT_EQ(f->read_at(1000, bytes), 0u);
}

TEST(file, gives_up_its_number_once) {
    auto root = fs::directory::open("/");
    ASSERT_TRUE(root);
    auto f = fs::open_beneath(*root, "");
    ASSERT_TRUE(f);
    fs::plain_file moved = std::move(*f);
    EXPECT_FALSE(f->open());
    EXPECT_TRUE(moved.open());
    const int fd = moved.release();
    EXPECT_FALSE(moved.open());
    EXPECT_GE(::fcntl(fd, F_GETFD), 0);
    close_descriptor(fd);
    EXPECT_EQ(::fcntl(fd, F_GETFD), -1);
}

TEST(file, has_no_nul_in_its_path) {
    const temporary_directory all;
    std::string path = all.write("f", "").string();
    path.append("\0x", 2);
    auto file = fs::open_file(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error(), std::errc::invalid_argument);
    auto whole = fs::read_file(path, 10);
    ASSERT_FALSE(whole);
    EXPECT_EQ(whole.error(), std::errc::invalid_argument);
    auto directory = fs::directory::open(all.path().string().append("\0x", 2));
    ASSERT_FALSE(directory);
    EXPECT_EQ(directory.error(), std::errc::invalid_argument);
}

TEST(file, is_read_to_its_end_whatever_size_it_says) {
    const auto whole = fs::read_file("/proc/self/status", 64 * 1024);
    ASSERT_TRUE(whole);
    EXPECT_TRUE(whole->text.reveal().starts_with("Name:"));
    EXPECT_TRUE(whole->text.reveal().ends_with('\n'));
    const auto cut = fs::read_file("/proc/self/status", 100);
    EXPECT_TRUE(!cut && cut.error() == errc::limit_exceeded);
}

TEST(file, has_the_last_time_there_is_when_its_own_is_later) {
    struct statx s{};
    s.stx_mtime.tv_sec = 10'000'000'000;
    s.stx_atime.tv_sec = -10'000'000'000;
    s.stx_ctime.tv_sec = 1;
    s.stx_ctime.tv_nsec = 2;
    const file_status known = coracle::detail::status_from(s);
    EXPECT_EQ(known.modified_ns, INT64_MAX);
    EXPECT_EQ(known.accessed_ns, INT64_MIN);
    EXPECT_EQ(known.changed_ns, 1'000'000'002);
}

TEST(directory, that_is_none_cannot_be_opened) {
    const temporary_directory all;
    const auto path = all.write("f", "").string();
    auto file = fs::directory::open(path);
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error(), std::errc::not_a_directory);
    EXPECT_EQ(file.error().subject(), path);
    auto missing = fs::directory::open(path + "x");
    ASSERT_FALSE(missing);
    EXPECT_EQ(missing.error(), std::errc::no_such_file_or_directory);
}
