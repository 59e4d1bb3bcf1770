#include "support/temporary_directory.hpp"

#include <coracle/fs/plain_file.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

using namespace coracle;
using coracle::testing::temporary_directory;

namespace {

class directory_entries_test : public ::testing::Test {
protected:
    directory_entries_test() {
        all_.write("root/d/.hidden", "x");
        all_.write("root/d/sub/x", "x");
        all_.write("secret", "outside");
        std::filesystem::create_symlink("a.txt", path() / "inside");
        std::filesystem::create_symlink("../..", path() / "up");
        std::filesystem::create_symlink("../../secret", path() / "outside");
        std::filesystem::create_symlink("/etc/passwd", path() / "absolute");
        std::filesystem::create_symlink("nothing", path() / "dangling");
        std::filesystem::create_symlink("sub", path() / "linked");
        EXPECT_EQ(::mkfifo((path() / "fifo").c_str(), 0600), 0);
    }
    std::filesystem::path path() const { return all_.path() / "root/d"; }

    std::string names(bool hidden, fs::beneath_method how = fs::beneath_method::automatic) const {
        const auto entries = fs::read_directory(root_, "d", 100, hidden, how);
        if (!entries) return entries.error().message();
        std::vector<std::string> all;
        for (const auto& e : entries->list) {
            all.push_back(e.name + (e.kind == file_kind::directory ? "/" : "") + ' ' +
                          std::to_string(e.size) + ' ');
        }
        std::sort(all.begin(), all.end());
        std::string text;
        for (const auto& name : all) text += name;
        return text;
    }

    const temporary_directory all_;
    const std::filesystem::path first_ = all_.write("root/d/a.txt", "0123456789");
    const fs::directory root_ = *fs::directory::open((all_.path() / "root").string());
};

using file_beneath_test = directory_entries_test;

}  // namespace

TEST_F(directory_entries_test, are_the_files_and_directories_that_can_be_reached) {
    EXPECT_EQ(names(false), "a.txt 10 inside 10 linked/ 0 sub/ 0 ");
    EXPECT_EQ(names(true), ".hidden 1 a.txt 10 inside 10 linked/ 0 sub/ 0 ");
    EXPECT_EQ(names(false, fs::beneath_method::walk), "a.txt 10 sub/ 0 ");
}

TEST_F(directory_entries_test, are_no_more_than_the_limit) {
    for (const std::size_t limit : {std::size_t{3}, std::size_t{4}, std::size_t{5}}) {
        const auto entries = fs::read_directory(root_, "d/", limit, false);
        ASSERT_TRUE(entries);
        EXPECT_EQ(entries->list.size(), std::min<std::size_t>(limit, 4));
        EXPECT_EQ(entries->truncated, limit < 4);
    }
}

TEST_F(directory_entries_test, are_of_directories_beneath_alone) {
    const auto fails = [this](const char* path, std::errc with) {
        const auto entries = fs::read_directory(root_, path, 1, false);
        return !entries && entries.error().code() == with;
    };
    EXPECT_TRUE(fails("d/a.txt", std::errc::not_a_directory));
    EXPECT_TRUE(fails("nothing", std::errc::no_such_file_or_directory));
    EXPECT_TRUE(fails("..", std::errc::cross_device_link));
    EXPECT_TRUE(fails("d/up/..", std::errc::cross_device_link));
    EXPECT_TRUE(fs::read_directory(root_, "", 1, false));
}

TEST_F(file_beneath_test, says_when_it_has_changed) {
    const auto file = fs::open_beneath(root_, "d/a.txt");
    ASSERT_TRUE(file);
    EXPECT_EQ(file->current_status()->size, 10u);
    all_.write("root/d/a.txt", "short");
    EXPECT_EQ(file->status().size, 10u);
    EXPECT_EQ(file->current_status()->size, 5u);
}

TEST_F(file_beneath_test, is_looked_up_in_memory_alone_when_told_to) {
    const auto open = [this](const char* path, fs::beneath_method how) {
        return fs::open_beneath(root_, path, how, fs::lookup::cached);
    };
    // Just written, so that the kernel remembers it; unless it cannot be asked.
    const auto file = open("d/a.txt", fs::beneath_method::automatic);
    const auto again = std::errc::resource_unavailable_try_again;
    EXPECT_TRUE(file || file.error().code() == again);
    EXPECT_EQ(open("d/a.txt", fs::beneath_method::walk).error().code(), again);
    EXPECT_EQ(open("../secret", fs::beneath_method::automatic).error().code(),
              std::errc::cross_device_link);
}

TEST_F(file_beneath_test, is_read_without_waiting_where_it_is_in_memory) {
    const auto file = fs::open_beneath(root_, "d/a.txt");
    char bytes[4];
    const auto n = file->try_read_at(2, bytes);
    ASSERT_TRUE(n);
    EXPECT_EQ(std::string_view(bytes, *n), "2345");
    // Beyond the end it cannot say what is missing.
    EXPECT_FALSE(file->try_read_at(8, bytes) && *file->try_read_at(8, bytes) == sizeof bytes);
}
