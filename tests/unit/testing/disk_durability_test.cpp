// The parts of a simulated disk that survive a crash, and those that may be lost.

#include "unit/testing/simulated_files.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/whole_file.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

using namespace simulated;

namespace {

TEST(simulated_disk_durability, loses_for_good_what_a_failed_sync_did_not_write) {
    int lost = 0;
    for (std::uint64_t seed = 1; seed != 100; ++seed) {
        simulated_disk disk;
        disk.write("/f", std::string(4096, 'o'));
        simulation_options o = over(disk, seed);
        o.split = false;
        o.faults.sync_errors = 2;
        simulation sim(o);
        sim.run([&]() -> task<> {
            auto f = co_await fs::open("/f", flags::read | flags::write);
            co_await f.write_at(0, std::string_view("nnnn"));
            bool failed = false;
            for (;;) {
                const auto synced = co_await as_result(f.sync());
                if (synced) break;
                failed = true;
            }
            char text[4];
            co_await f.read_exactly_at(0, text);
            EXPECT_EQ(std::string_view(text, 4), "nnnn");
            disk.crash(seed);
            const bool is_lost = disk.read("/f").starts_with("oooo");
            EXPECT_TRUE(failed || !is_lost);
            if (is_lost) ++lost;
        });
    }
    EXPECT_GT(lost, 5);
}

// Into a directory that is no older than the rename.
TEST(simulated_disk_durability, a_file_that_is_renamed_has_one_of_its_names) {
    for (const bool synced : {false, true}) {
        std::set<std::string> seen;
        for (std::uint64_t seed = 1; seed != 200; ++seed) {
            simulated_disk disk;
            disk.make_directory("/b");
            disk.write("/a/x", "kept");
            simulation sim(over(disk, seed));
            sim.run([&]() -> task<> {
                co_await fs::make_directories("/b/d");
                co_await fs::rename("/a/x", "/b/d/x");
                if (!synced) co_return;
                co_await fs::sync_directory("/a");
                co_await fs::sync_directory("/b/d");
            });
            disk.crash(seed);
            const bool is_old = disk.exists("/a/x");
            const bool is_new = disk.exists("/b/d/x");
            EXPECT_NE(is_old, is_new) << seed;
            seen.insert(is_old ? "old" : "new");
        }
        EXPECT_EQ(seen.size(), synced ? 1U : 2U);
    }
}

// A program has to sync the directory above, too.
TEST(simulated_disk_durability, a_new_directory_may_be_lost_with_what_was_made_in_it) {
    int lost = 0;
    for (std::uint64_t seed = 1; seed != 100; ++seed) {
        simulated_disk disk;
        disk.make_directory("/b");
        simulation sim(over(disk, seed));
        sim.run([&]() -> task<> {
            co_await fs::make_directories("/b/d");
            co_await fs::write_text("/b/d/t", "new");
            co_await fs::rename("/b/d/t", "/b/d/x");
            co_await fs::sync_directory("/b/d");
        });
        disk.crash(seed);
        if (!disk.exists("/b/d/x")) ++lost;
    }
    EXPECT_GT(lost, 5);
}

TEST(simulated_disk_durability, is_lost_to_who_has_it_open_in_a_crash) {
    simulation sim(plain());
    sim.disk().write("/f", "kept");
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/f", flags::read | flags::write);
        sim.crash_disk();
        const auto late = co_await as_result(f.write_at(0, "x"));
        EXPECT_EQ(late.error(), std::errc::io_error);
        const std::string text = co_await fs::read_text("/f");
        EXPECT_EQ(text, "kept");
    });
}

TEST(simulated_disk_durability, has_no_power_after_so_many_operations) {
    simulation sim(plain());
    sim.disk().cut_power_after(2);
    sim.run([&]() -> task<> {
        co_await fs::make_directory("/one");
        co_await fs::make_directory("/two");
        const auto three = co_await as_result(fs::make_directory("/three"));
        EXPECT_EQ(three.error(), std::errc::io_error);
        EXPECT_EQ(sim.disk().operations(), 2u);
        sim.crash_disk();
        co_await fs::make_directory("/four");
    });
}

/// Which of several things that were not synced are there after a crash, over many seeds.
template <class Prepare, class Look>
std::set<std::string> left_by_crashes(Prepare prepare, Look look) {
    std::set<std::string> all;
    for (std::uint64_t seed = 1; seed != 300; ++seed) {
        simulated_disk disk;
        disk.make_directory("/a");
        disk.make_directory("/b");
        simulation sim(over(disk, seed));
        sim.run([&] { return prepare(); });
        disk.crash(seed);
        all.insert(look(disk));
    }
    return all;
}

std::string names_of(const simulated_disk& disk, const char* directory) {
    std::string all;
    for (const std::string& name : disk.list(directory)) all += name;
    return all;
}

TEST(simulated_disk_durability, keeps_permissions_and_times_only_with_a_sync) {
    const auto left = [](bool syncs) {
        return left_by_crashes(
            [syncs]() -> task<> {
                {
                    auto f = co_await fs::open("/a/f", written, 0644);
                    co_await f.sync();
                }
                co_await fs::sync_directory("/a");
                auto f = co_await fs::open("/a/f", flags::write);
                co_await f.set_mode(0600);
                co_await fs::set_times("/a/f", 5, 7);
                if (syncs) co_await f.sync();
            },
            [](const simulated_disk& disk) {
                const auto s = disk.status("/a/f").value();
                return std::to_string(s.mode & 0777) + (s.modified_ns == 7 ? " new" : " old");
            });
    };
    const std::string before = std::to_string(0644) + " old";
    const std::string after = std::to_string(0600) + " new";
    EXPECT_EQ(left(true), std::set<std::string>{after});
    EXPECT_EQ(left(false), (std::set<std::string>{before, after}));
}

TEST(simulated_disk_durability, loses_the_last_names_of_a_directory_first) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::make_directory("/a/2");
            co_await fs::make_directory("/a/3");
        },
        [](const simulated_disk& disk) { return names_of(disk, "/a"); });
    EXPECT_EQ(left, (std::set<std::string>{"", "1", "12", "123"}));
}

TEST(simulated_disk_durability, loses_names_of_two_directories_apart) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::make_directory("/b/2");
        },
        [](const simulated_disk& disk) { return names_of(disk, "/a") + names_of(disk, "/b"); });
    EXPECT_EQ(left, (std::set<std::string>{"", "1", "2", "12"}));
}

TEST(simulated_disk_durability, has_moved_a_file_whole_or_not_at_all) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::sync_directory("/a");
            co_await fs::rename("/a/1", "/b/1");
        },
        [](const simulated_disk& disk) {
            return names_of(disk, "/a") + '-' + names_of(disk, "/b");
        });
    EXPECT_EQ(left, (std::set<std::string>{"1-", "-1"}));
}

TEST(simulated_disk_durability, keeps_with_a_directory_what_was_moved_out_of_it) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::rename("/a/1", "/b/1");
            co_await fs::sync_directory("/a");
        },
        [](const simulated_disk& disk) {
            return names_of(disk, "/a") + '-' + names_of(disk, "/b");
        });
    EXPECT_EQ(left, std::set<std::string>{"-1"});
}

TEST(simulated_disk_durability, may_lose_the_name_of_a_file_that_was_synced) {
    const auto left = left_by_crashes(
        []() -> task<> {
            auto f = co_await fs::open("/a/f", written);
            co_await f.write_at(0, "x");
            co_await f.sync();
        },
        [](const simulated_disk& disk) {
            return disk.exists("/a/f") ? disk.read("/a/f") : std::string("gone");
        });
    EXPECT_EQ(left, (std::set<std::string>{"gone", "x"}));
}

TEST(simulated_disk_durability, tears_pages_at_sectors) {
    bool torn = false;
    for (std::uint64_t seed = 1; seed != 100 && !torn; ++seed) {
        simulated_disk disk;
        disk.write("/f", std::string(4096, 'o'));
        simulation(over(disk, seed)).run([]() -> task<> {
            auto f = co_await fs::open("/f", flags::write);
            const std::string bytes(4096, 'n');
            co_await f.write_at(0, bytes);
        });
        disk.crash(seed);
        const std::string text = disk.read("/f");
        for (std::size_t at = 0; at != text.size(); at += 512) {
            EXPECT_EQ(text.substr(at, 512), std::string(512, text[at]));
        }
        torn = text.find('o') != std::string::npos && text.find('n') != std::string::npos;
    }
    EXPECT_TRUE(torn);
}

TEST(simulated_disk_durability, keeps_what_is_written_to_a_file_that_is_opened_to_sync) {
    const auto left = left_by_crashes(
        []() -> task<> {
            auto f = co_await fs::open("/a/f", written | flags::data_sync);
            co_await fs::sync_directory("/a");
            co_await f.write_at(0, "x");
        },
        [](const simulated_disk& disk) { return disk.read("/a/f"); });
    EXPECT_EQ(left, std::set<std::string>{"x"});
}

TEST(simulated_disk_durability, keeps_everything_when_it_is_turned_off_properly) {
    simulated_disk disk;
    simulation_options o;
    o.disk = &disk;
    simulation(o).run([]() -> task<> { co_await fs::write_text("/f", "x"); });
    disk.sync();
    disk.crash(1);
    EXPECT_EQ(disk.read("/f"), "x");
}

}  // namespace
