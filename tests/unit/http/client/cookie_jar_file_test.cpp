// A cookie jar as a file: what is saved and loaded, and where.

#include "support/temporary_directory.hpp"

#include <coracle/http/cookie_jar.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

using namespace coracle;
using namespace coracle::http;

namespace {

constexpr std::int64_t now = 1'800'000'000;

url at(std::string_view text) {
    return url::parse(text).value();
}

std::string contents(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// The error of saving to this path; none where it went well.
std::error_code fault_of_saving(cookie_jar& jar, const std::filesystem::path& path) {
    const auto saved = jar.save(path.string(), now);
    return saved ? std::error_code() : saved.error().code();
}

}  // namespace

TEST(cookie_jar, saves_and_loads_a_file) {
    const coracle::testing::temporary_directory folder;
    const std::string path = (folder.path() / "cookies.txt").string();
    cookie_jar jar;
    jar.receive(at("https://www.a.org/x/y"), "s=1; Secure; HttpOnly; Domain=a.org", now);
    jar.receive(at("http://[::1]/"), "t=\xC3\xA4=\"; Max-Age=60", now);
    std::ofstream(path) << "what was there";
    std::filesystem::permissions(path, std::filesystem::perms::all);
    ASSERT_TRUE(jar.save(path, now).has_value());
    EXPECT_EQ(contents(path), jar.text(now));
    struct stat status{};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
    cookie_jar other;
    EXPECT_EQ(other.load(path, now).value(), 2u);
    EXPECT_EQ(other.list(now), jar.list(now));
    EXPECT_EQ(other.load(path, now + 60).value(), 1u);
    // Nothing else was left in the folder.
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);
}

TEST(cookie_jar, saves_behind_links_which_stay) {
    const coracle::testing::temporary_directory folder;
    const auto link = folder.path() / "link";
    const auto second = folder.path() / "second";
    std::filesystem::create_directory(folder.path() / "below");
    std::filesystem::create_symlink("second", link);
    std::filesystem::create_symlink("below/cookies.txt", second);
    cookie_jar jar;
    jar.receive(at("https://a.org/"), "s=1", now);
    // At first it leads to nothing.
    for (int i = 0; i != 2; ++i) ASSERT_TRUE(jar.save(link.string(), now).has_value());
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_TRUE(std::filesystem::is_symlink(second));
    EXPECT_EQ(contents((folder.path() / "below/cookies.txt").string()), jar.text(now));
    std::filesystem::create_symlink("circle", folder.path() / "circle");
    EXPECT_EQ(fault_of_saving(jar, folder.path() / "circle"),
              std::errc::too_many_symbolic_link_levels);
    EXPECT_EQ(fault_of_saving(jar, folder.path()), std::errc::is_a_directory);
}

TEST(cookie_jar, saves_behind_a_link_with_an_absolute_target) {
    const coracle::testing::temporary_directory folder;
    const auto target = folder.path() / "cookies.txt";
    std::filesystem::create_directory(folder.path() / "links");
    const auto link = folder.path() / "links" / "link";
    std::filesystem::create_symlink(target, link);
    cookie_jar jar;
    jar.receive(at("https://a.org/"), "s=1", now);
    EXPECT_EQ(fault_of_saving(jar, link), std::error_code());
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    EXPECT_EQ(contents(target.string()), jar.text(now));
}

TEST(cookie_jar, has_no_nul_in_its_path) {
    const coracle::testing::temporary_directory folder;
    const std::string path = (folder.path() / "cookies.txt").string();
    cookie_jar jar;
    EXPECT_EQ(fault_of_saving(jar, path + std::string("\0.bak", 5)), std::errc::invalid_argument);
    EXPECT_FALSE(std::filesystem::exists(path));
}

// As root it once made a file of /dev/null.
TEST(cookie_jar, writes_to_what_is_no_file_and_never_replaces_it) {
    const coracle::testing::temporary_directory folder;
    const std::string fifo = (folder.path() / "fifo").string();
    const std::string link = (folder.path() / "link").string();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    std::filesystem::create_symlink("fifo", link);
    cookie_jar jar;
    jar.receive(at("https://a.org/"), "s=1", now);
    EXPECT_EQ(fault_of_saving(jar, fifo), std::errc::no_such_device_or_address);
    for (const std::string& path : {fifo, link}) {
        const owned_fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        ASSERT_TRUE(jar.save(path, now).has_value());
        std::string text(1000, '\0');
        const ssize_t n = ::read(reader.get(), text.data(), text.size());
        ASSERT_GT(n, 0);
        EXPECT_EQ(text.substr(0, static_cast<std::size_t>(n)), jar.text(now));
        EXPECT_TRUE(std::filesystem::is_fifo(fifo));
    }
    EXPECT_TRUE(std::filesystem::is_symlink(link));
    const std::string device = (folder.path() / "null").string();
    if (::mknod(device.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0) return;  // not root
    // Some containers forbid to use a device; all the same it stays one.
    static_cast<void>(jar.save(device, now));
    EXPECT_TRUE(std::filesystem::is_character_file(device));
}

// The pipe takes a part of it, and then nothing until somebody reads.
TEST(cookie_jar, is_written_whole_to_a_pipe_that_holds_less) {
    const coracle::testing::temporary_directory folder;
    const std::string fifo = (folder.path() / "fifo").string();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    const owned_fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    ASSERT_GE(::fcntl(reader.get(), F_SETPIPE_SZ, 4096), 0);
    cookie_jar jar;
    for (int i = 0; i != 180; ++i)
        jar.receive(at("https://a.org/"), "c" + std::to_string(i) + '=' + std::string(100, 'x'),
                    now);
    const std::string wanted = jar.text(now);
    ASSERT_GT(wanted.size(), 16'384U);
    std::error_code fault;
    std::thread saving([&] { fault = fault_of_saving(jar, fifo); });
    ASSERT_EQ(::fcntl(reader.get(), F_SETFL, 0), 0);
    std::string text;
    char piece[1000];
    while (text.size() < wanted.size()) {
        pollfd one{reader.get(), POLLIN, 0};
        if (::poll(&one, 1, 10'000) != 1) break;
        const ssize_t n = ::read(reader.get(), piece, sizeof piece);
        if (n > 0) text.append(piece, static_cast<std::size_t>(n));
        if (n <= 0 && (one.revents & POLLHUP) != 0) break;
    }
    saving.join();
    EXPECT_EQ(fault, std::error_code());
    EXPECT_EQ(text, wanted);
}

TEST(cookie_jar, is_read_from_pipes_and_devices_too) {
    const coracle::testing::temporary_directory folder;
    const std::string fifo = (folder.path() / "fifo").string();
    ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
    cookie_jar full;
    for (int i = 0; i != 170; ++i)
        full.receive(at("https://a.org/"), "c" + std::to_string(i) + "=1; Max-Age=60", now);
    const std::string text = full.text(now);
    ASSERT_GT(text.size(), 4096U);
    for (const std::size_t limit : {text.size() - 1, text.size()}) {
        cookie_jar jar({.file = limit});
        // Nobody writes: it is empty.
        EXPECT_EQ(jar.load(fifo, now).value(), 0U);
        const owned_fd reader(::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
        {
            const owned_fd writer(::open(fifo.c_str(), O_WRONLY | O_CLOEXEC));
            ASSERT_EQ(::write(writer.get(), text.data(), text.size()),
                      static_cast<ssize_t>(text.size()));
        }
        const auto loaded = jar.load(fifo, now);
        if (limit == text.size()) {
            EXPECT_EQ(loaded.value(), 170U);
        } else {
            EXPECT_EQ(loaded.error(), errc::limit_exceeded);
        }
    }
    cookie_jar jar;
    EXPECT_EQ(jar.load("/dev/null", now).value(), 0U);
    EXPECT_EQ(jar.load("/dev/zero", now).error(), errc::limit_exceeded);
}

TEST(cookie_jar, says_what_is_wrong_with_a_file) {
    const coracle::testing::temporary_directory folder;
    const std::string path = (folder.path() / "cookies.txt").string();
    cookie_jar jar({.file = 100});
    EXPECT_EQ(jar.load(path, now).error(), std::errc::no_such_file_or_directory);
    EXPECT_EQ(jar.load(folder.path().string(), now).error(), std::errc::invalid_argument);
    std::ofstream(path) << std::string(100, '\n');
    EXPECT_EQ(jar.load(path, now).value(), 0u);
    std::ofstream(path) << std::string(101, '\n');
    EXPECT_EQ(jar.load(path, now).error(), errc::limit_exceeded);
    const auto failed = jar.save((folder.path() / "none/cookies.txt").string(), now);
    EXPECT_EQ(failed.error(), std::errc::no_such_file_or_directory);
}
