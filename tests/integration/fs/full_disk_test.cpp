// A file system of 256 KiB of its own that fills up.

#include "support/file_worlds.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/file.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/owned_fd.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>

#include <cerrno>
#include <cstring>
#include <utility>

using namespace coracle;
using namespace coracle::testing;

namespace {

constexpr std::size_t disk_size = 256 * 1024;

/// A tmpfs that is mounted nowhere: reached through its descriptor, and gone with it.
owned_fd small_disk() {
    const owned_fd made(::fsopen("tmpfs", FSOPEN_CLOEXEC));
    if (!made) return owned_fd(-1);
    const std::string size = std::to_string(disk_size);
    if (::fsconfig(made.get(), FSCONFIG_SET_STRING, "size", size.c_str(), 0) != 0 ||
        ::fsconfig(made.get(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
        return owned_fd(-1);
    }
    return owned_fd(::fsmount(made.get(), FSMOUNT_CLOEXEC, 0));
}

class full_disks : public file_world_test {
protected:
    void SetUp() override {
        if (!disk_) GTEST_SKIP() << "this user may mount nothing: " << std::strerror(errno);
    }
    std::string on_disk(std::string_view name) const {
        return ("/proc/self/fd/" + std::to_string(disk_.get()) + "/").append(name);
    }
    std::size_t names_on_disk() const {
        const std::filesystem::directory_iterator all(on_disk(""));
        return static_cast<std::size_t>(std::distance(begin(all), end(all)));
    }

private:
    const owned_fd disk_ = small_disk();
};
INSTANTIATE_TEST_SUITE_P(everywhere, full_disks, ::testing::ValuesIn(file_worlds()), name_of_world);

}  // namespace

TEST_P(full_disks, are_named_with_the_file_and_how_much_went_there) {
    run([&]() -> task<> {
        fs::file f = co_await fs::open(on_disk("log"), fs::write_only | fs::create_new);
        const std::string much = pattern(disk_size + 1);
        auto r = co_await as_result(f.write_at(0, much));
        EXPECT_TRUE(!r && r.error() == std::errc::no_space_on_device);
        if (r) co_return;
        EXPECT_EQ(r.error().bytes(), disk_size);
        const std::string said = r.error().message();
        EXPECT_EQ(said.find("write " + on_disk("log") +
                            ": No space left on device, bytes 262144; free space"),
                  0u)
            << said;
        // The file holds the bytes that were reported.
        const std::string there = co_await fs::read_text(on_disk("log"));
        EXPECT_TRUE(there == much.substr(0, disk_size));
        // Once there is room again, all goes on.
        co_await f.truncate(0);
        co_await f.write_at(0, "again");
        co_await f.close();
    });
}

TEST_P(full_disks, leave_the_old_content_of_a_file_that_is_replaced_and_nothing_else) {
    run([&]() -> task<> {
        co_await fs::write_text(on_disk("settings"), "old");
        auto r = co_await as_result(fs::replace_text(on_disk("settings"), pattern(disk_size)));
        EXPECT_TRUE(!r && r.error() == std::errc::no_space_on_device);
        if (r) co_return;
        EXPECT_EQ(r.error().subject(), on_disk("settings"));
        EXPECT_EQ(co_await fs::read_text(on_disk("settings")), "old");
        EXPECT_EQ(names_on_disk(), 1u);
    });
}

TEST_P(full_disks, end_a_copy_and_leave_no_part_of_it) {
    directory_.write("large", pattern(disk_size + 1));
    run([&]() -> task<> {
        auto r = co_await as_result(fs::copy_file(path("large"), on_disk("copy")));
        EXPECT_TRUE(!r && r.error() == std::errc::no_space_on_device);
        if (r) co_return;
        const std::string said = r.error().message();
        EXPECT_EQ(said.find("write " + on_disk("copy") + ":"), 0u) << said;
        EXPECT_NE(said.find("; free space"), std::string::npos) << said;
        EXPECT_EQ(names_on_disk(), 0u);
    });
}
