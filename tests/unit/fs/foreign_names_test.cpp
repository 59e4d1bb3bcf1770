// Names that others take, or put something else under, while we work with them.

#include "fs/file_writer.hpp"
#include "fs/part_file.hpp"
#include "fs/replacement.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/simulation.hpp>

#include <fcntl.h>
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
using namespace std::chrono_literals;

namespace {

simulation_options over(simulated_disk& disk, std::uint64_t seed = 1) {
    simulation_options o;
    o.seed = seed;
    o.disk = &disk;
    return o;
}

/// Removes "/tree" while `name` is at times a link to "/keep".
void remove_while_swapping(const std::string& name, std::uint64_t seed) {
    simulated_disk disk;
    disk.write("/keep/one", "x");
    disk.write("/keep/below/two", "x");
    disk.write("/tree/d/three", "x");
    simulation world(over(disk, seed));
    SCOPED_TRACE(world.replay());
    const auto swaps = [&]() -> task<> {
        static_cast<void>(co_await as_result(fs::symlink("/keep", "/link")));
        for (int i = 0; i != 4; ++i) {
            static_cast<void>(co_await as_result(fs::rename(name, "/aside")));
            static_cast<void>(co_await as_result(fs::rename("/link", name)));
            static_cast<void>(co_await as_result(fs::rename(name, "/link")));
            static_cast<void>(co_await as_result(fs::rename("/aside", name)));
        }
    };
    const auto removes = []() -> task<> {
        for (int i = 0; i != 3; ++i) static_cast<void>(co_await as_result(fs::remove_all("/tree")));
    };
    world.run([&]() -> task<> { co_await when_all(swaps(), removes()); });
    EXPECT_TRUE(disk.exists("/keep/one"));
    EXPECT_TRUE(disk.exists("/keep/below/two"));
}

/// From now on no call of this thread makes a file without a name.
bool refuse_nameless_files() {
    constexpr unsigned nameless = O_TMPFILE & ~O_DIRECTORY;
    sock_filter program[] = {
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
        {BPF_JMP | BPF_JEQ | BPF_K, 0, 3, SYS_openat},
        {BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, args[2])},
        {BPF_JMP | BPF_JSET | BPF_K, 0, 1, nameless},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | EOPNOTSUPP},
        {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW},
    };
    const sock_fprog all{6, program};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all) == 0;
}

std::string text_of(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

TEST(foreign_names, of_links_are_not_followed_where_a_tree_is_removed) {
    for (const std::uint64_t seed : seeds(200)) {
        remove_while_swapping("/tree", seed);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(foreign_names, of_links_are_not_followed_within_a_tree_that_is_removed) {
    for (const std::uint64_t seed : seeds(200)) {
        remove_while_swapping("/tree/d", seed);
        if (::testing::Test::HasFailure()) return;
    }
}

TEST(foreign_names, are_left_alone_where_a_file_is_replaced) {
    simulated_disk disk;
    disk.write("/f", "old");
    std::string taken;
    simulation(over(disk)).run([&]() -> task<> {
        taken = fs::detail::name_beside("/f");
        co_return;
    });
    disk.write(taken, "of somebody else");
    // An equal seed tries an equal name first.
    simulation(over(disk)).run([]() -> task<> { co_await fs::replace_text("/f", "new"); });
    EXPECT_EQ(disk.read(taken), "of somebody else");
    EXPECT_EQ(disk.read("/f"), "new");
}

TEST(foreign_names, are_left_alone_where_a_temporary_file_needs_one) {
    simulated_disk disk;
    simulation_options nameless_fails = over(disk);
    nameless_fails.faults.fails = opcode::file;
    nameless_fails.faults.fails_at = 1;
    nameless_fails.faults.fails_with = EOPNOTSUPP;
    disk.make_directory("/d");
    std::string taken;
    simulation(nameless_fails).run([&]() -> task<> {
        const fs::temporary_file f = co_await fs::make_temporary_file("/d");
        taken = "/d/" + disk.list("/d").at(0);
    });
    ASSERT_FALSE(disk.exists(taken));
    disk.write(taken, "of somebody else");
    simulation(nameless_fails).run([&]() -> task<> {
        fs::temporary_file f = co_await fs::make_temporary_file("/d");
        EXPECT_EQ(disk.list("/d").size(), 2U);
        co_await f.content().write_at(0, "ours");
    });
    EXPECT_EQ(disk.read(taken), "of somebody else");
}

TEST(foreign_names, are_not_written_to_where_files_without_a_name_cannot_be_had) {
    const temporary_directory d;
    const std::string directory = d.path().string();
    std::filesystem::path name;
    bool refuses = false;
    bool follows = false;
    bool replaces = false;
    bool is_written = false;
    // A filter of system calls holds for one thread, and ends with it.
    std::thread([&] {
        refuses = refuse_nameless_files();
        {
            const auto first = fs::file_writer::create(directory, 7);
            const std::filesystem::directory_iterator all(d.path());
            if (all != end(all)) name = all->path();
        }
        d.write("theirs", "of somebody else");
        std::filesystem::create_symlink("theirs", name);
        follows = fs::file_writer::create(directory, 7).has_value();
        std::filesystem::remove(name);
        std::ofstream(name) << "of somebody else";
        replaces = fs::file_writer::create(directory, 7).has_value();
        auto other = fs::file_writer::create(directory, 8);
        is_written = other && other->write("new") && other->commit("f", fs::if_exists::replace);
    }).join();
    ASSERT_TRUE(refuses) << "filters of system calls are part of every kernel that we support";
    EXPECT_FALSE(follows);
    EXPECT_FALSE(replaces);
    EXPECT_EQ(text_of(d.path() / "theirs"), "of somebody else");
    EXPECT_EQ(text_of(name), "of somebody else");
    EXPECT_TRUE(is_written);
    EXPECT_EQ(text_of(d.path() / "f"), "new");
}

// A process that opens a part just before it is completed, and locks it just after, has locked the
// whole file.
TEST(foreign_names, are_not_taken_for_a_part_that_was_completed_meanwhile) {
    int taken_for_busy = 0;
    for (const std::uint64_t seed : seeds(300)) {
        simulated_disk disk;
        disk.make_directory("/d");
        simulation world(over(disk, seed));
        SCOPED_TRACE(world.replay());
        bool completed = false;
        const auto completes = [&]() -> task<> {
            fs::detail::part_file part("/d/f");
            const auto opened = co_await part.open(false);
            if (!opened) co_return;  // the other one was faster
            const auto written = co_await part.write("whole");
            EXPECT_TRUE(written) << written.error();
            completed = (co_await part.complete(false)).has_value();
        };
        const auto comes_late = [&]() -> task<> {
            const auto delay = static_cast<std::int64_t>(loop::current()->random() % 1000);
            co_await sleep_for(400us + std::chrono::microseconds(delay));
            fs::detail::part_file part("/d/f");
            const auto opened = co_await part.open(false);
            if (!opened) {
                EXPECT_EQ(opened.error(), std::errc::device_or_resource_busy);
                ++taken_for_busy;
            }
        };
        world.run([&]() -> task<> { co_await when_all(completes(), comes_late()); });
        if (completed) {
            EXPECT_EQ(disk.read("/d/f"), "whole");
        }
        if (::testing::Test::HasFailure()) return;
    }
    EXPECT_NE(taken_for_busy, 0);
}
