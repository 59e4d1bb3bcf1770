#include "fs/file_writer.hpp"

#include "support/temporary_directory.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

using namespace coracle;
using namespace coracle::testing;

namespace {

/// From now on every close of this thread fails with `number`, as on a network file system.
bool refuse_to_close(unsigned number) {
    sock_filter program[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, SYS_close},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | number},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog all{4, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t names_in(const std::filesystem::path& directory) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory),
                                                  std::filesystem::directory_iterator()));
}

}  // namespace

TEST(file_writer, replaces_what_is_there) {
    const temporary_directory d;
    d.write("f", "old");
    auto w = fs::file_writer::create(d.path().string(), 7);
    ASSERT_TRUE(w);
    ASSERT_TRUE(w->write("new"));
    ASSERT_TRUE(w->commit("f", fs::if_exists::replace));
    EXPECT_EQ(text_of(d.path() / "f"), "new");
    EXPECT_EQ(names_in(d.path()), 1u);
}

TEST(file_writer, leaves_the_old_file_when_the_disk_turns_out_to_be_full_at_the_end) {
    const temporary_directory d;
    d.write("f", "old");
    auto w = fs::file_writer::create(d.path().string(), 7);
    ASSERT_TRUE(w);
    ASSERT_TRUE(w->write("new"));
    bool refused = false;
    std::expected<void, error> done;
    // A filter of system calls holds for one thread, and ends with it.
    std::thread([&] {
        refused = refuse_to_close(EDQUOT);
        if (refused) done = w->commit("f", fs::if_exists::replace);
    }).join();
    if (!refused) GTEST_SKIP() << "no filters of system calls here";
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code().value(), EDQUOT);
    EXPECT_EQ(text_of(d.path() / "f"), "old");
    EXPECT_EQ(names_in(d.path()), 1u);
}
