// The files of a simulated world: what happens when, what goes wrong, and what tests see of it.

#include "unit/testing/raw_file.hpp"
#include "unit/testing/simulated_pair.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulated_disk.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

using namespace simulated;
using flags = fs::open_flags;

namespace {

constexpr flags written = flags::write | flags::create;
constexpr flags both = flags::read | flags::write | flags::create;

/// A world in which only what a test asks for goes wrong.
simulation_options plain() {
    simulation_options o;
    o.split = false;
    return o;
}

std::uint64_t traced(std::uint64_t seed) {
    simulation sim(seeded(seed));
    sim.run([]() -> task<> {
        co_await fs::make_directories("/a/b");
        co_await fs::write_text("/a/b/c", "content");
        co_await fs::replace_text("/a/b/c", "new content");
        co_await fs::read_text("/a/b/c");
    });
    return sim.trace();
}

TEST(simulated_disk, gives_the_same_run_for_the_same_seed) {
    std::set<std::uint64_t> traces;
    for (std::uint64_t seed = 1; seed != 50; ++seed) {
        const std::uint64_t trace = traced(seed);
        EXPECT_EQ(traced(seed), trace) << "seed " << seed;
        traces.insert(trace);
    }
    EXPECT_GT(traces.size(), 40u);
}

TEST(simulated_disk, tells_in_the_trace_what_was_done_to_files) {
    std::string lines;
    simulation_options o = plain();
    o.trace = [](void* to, std::string_view line) {
        static_cast<std::string*>(to)->append(line).append("\n");
    };
    o.trace_user = &lines;
    simulation sim(o);
    sim.run([]() -> task<> { co_await fs::make_directory("/here"); });
    EXPECT_NE(lines.find("file make directory /here: 0"), std::string::npos) << lines;
}

// ---- what tests see -----------------------------------------------------------------------------

TEST(simulated_disk, is_prepared_and_looked_at_by_hand) {
    simulated_disk disk;
    EXPECT_EQ(disk.list("/"), std::vector<std::string>{"tmp"});
    disk.write("/etc/service/config", "one");
    disk.write("/etc/service/config", "two");
    disk.make_directory("/var/lib");
    EXPECT_EQ(disk.read("/etc/service/config"), "two");
    EXPECT_EQ(disk.list("/etc"), std::vector<std::string>{"service"});
    EXPECT_TRUE(disk.exists("/var/lib"));
    EXPECT_FALSE(disk.exists("/var/lib/x"));
    EXPECT_EQ(disk.status("/etc/service/config")->size, 3u);
    EXPECT_EQ(disk.used(), 4096u);
    disk.crash(1);
    EXPECT_EQ(disk.read("/etc/service/config"), "two");
    disk.remove("/etc");
    EXPECT_FALSE(disk.exists("/etc"));
    EXPECT_EQ(disk.used(), 0u);
    EXPECT_THROW(disk.read("/etc"), coracle::exception);
    EXPECT_THROW(disk.list("/etc"), coracle::exception);
    disk.crash(1);
    EXPECT_FALSE(disk.exists("/etc"));
}

TEST(simulated_disk, outlives_a_simulation) {
    simulated_disk disk;
    simulation_options o;
    o.disk = &disk;
    simulation(o).run([]() -> task<> { co_await fs::write_text("/left", "behind"); });
    EXPECT_EQ(disk.read("/left"), "behind");
    simulation(o).run([]() -> task<> {
        const std::string text = co_await fs::read_text("/left");
        EXPECT_EQ(text, "behind");
    });
}

TEST(simulated_disk, has_times_of_the_simulated_clock) {
    simulation_options o = plain();
    o.unix_time = 1000;
    simulation sim(o);
    sim.run([]() -> task<> {
        co_await fs::write_text("/f", "x");
        co_await sleep_for(5s);
        co_await fs::append_text("/f", "y");
    });
    const file_status s = *sim.disk().status("/f");
    EXPECT_EQ(s.created_ns / 1'000'000'000, 1000);
    EXPECT_EQ(s.modified_ns / 1'000'000'000, 1005);
}

// ---- descriptors --------------------------------------------------------------------------------

TEST(simulated_disk, counts_open_files_with_the_sockets) {
    simulation_options o = plain();
    o.descriptors = 2;
    simulation sim(o);
    sim.run([&]() -> task<> {
        auto one = co_await fs::open("/one", written);
        auto listener = open_listener(sim.loop());
        EXPECT_EQ(sim.backend().open_descriptors(), 2u);
        const auto third = co_await as_result(fs::open("/three", written));
        EXPECT_EQ(third.error(), std::errc::too_many_files_open);
        // The number is what is missing first: nothing was made.
        EXPECT_FALSE(sim.disk().exists("/three"));
        co_await one.close();
        EXPECT_EQ(sim.backend().open_descriptors(), 1u);
        {
            auto again = co_await fs::open("/three", written);
        }
        EXPECT_EQ(sim.backend().open_descriptors(), 1u);
    });
}

TEST(simulated_disk, keeps_what_is_open_and_has_no_name) {
    simulation sim(plain());
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/f", both);
        co_await f.write_at(0, "still here");
        co_await fs::remove("/f");
        EXPECT_FALSE(sim.disk().exists("/f"));
        char text[10];
        co_await f.read_exactly_at(0, text);
        EXPECT_EQ(std::string_view(text, sizeof text), "still here");
        EXPECT_NE(sim.disk().used(), 0u);
        co_await f.close();
        EXPECT_EQ(sim.disk().used(), 0u);
    });
}

TEST(simulated_disk, names_a_nameless_file_by_its_number) {
    simulation sim(plain());
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/tmp", flags::write | flags::temporary);
        co_await f.write_at(0, "whole");
        EXPECT_TRUE(sim.disk().list("/tmp").empty());
        const std::string self = "/proc/self/fd/" + std::to_string(f.fd());
        raw_file link(file_action::link);
        link.fd = link.other_fd = AT_FDCWD;
        link.path = self.c_str();
        link.other_path = "/tmp/f";
        link.flags = AT_SYMLINK_FOLLOW;
        const auto linked = co_await as_result(link);
        EXPECT_EQ(*linked, 0);
    });
    EXPECT_EQ(sim.disk().read("/tmp/f"), "whole");
}

// ---- when it happens ----------------------------------------------------------------------------

TEST(simulated_disk, takes_as_long_as_is_asked_for) {
    simulation_options o = plain();
    o.file_delay_min = o.file_delay_max = 10ms;
    simulation sim(o);
    sim.run([&]() -> task<> {
        const time_point before = sim.now();
        co_await fs::make_directory("/d");
        // Once until it happens, and once until that is told.
        EXPECT_GE(sim.now() - before, 10ms);
        EXPECT_LE(sim.now() - before, 21ms);
    });
}

TEST(simulated_disk, lets_what_is_under_way_happen_in_any_order) {
    std::set<std::string> seen;
    for (std::uint64_t seed = 1; seed != 100; ++seed) {
        simulation sim(seeded(seed));
        sim.run([]() -> task<> {
            auto f = co_await fs::open("/f", written | flags::append);
            co_await when_all(f.append("a"), f.append("b"), f.append("c"));
        });
        seen.insert(sim.disk().read("/f"));
    }
    EXPECT_EQ(seen, (std::set<std::string>{"abc", "acb", "bac", "bca", "cab", "cba"}));
}

TEST(simulated_disk, has_not_done_what_was_cancelled_before_it_happened) {
    simulation_options o = plain();
    o.file_delay_min = o.file_delay_max = 10ms;
    simulation sim(o);
    sim.run([&]() -> task<> {
        const auto made = co_await as_result(with_timeout(5ms, fs::make_directory("/d")));
        EXPECT_EQ(made.error(), std::errc::timed_out);
        EXPECT_LE(sim.elapsed(), 6ms);
        co_await sleep_for(1s);
        EXPECT_FALSE(sim.disk().exists("/d"));
    });
}

TEST(simulated_disk, tells_of_what_had_happened_when_it_was_cancelled) {
    simulation_options o = plain();
    o.file_delay_min = o.file_delay_max = 10ms;
    simulation sim(o);
    sim.run([&]() -> task<> {
        const auto made = co_await as_result(with_timeout(15ms, fs::make_directory("/d")));
        EXPECT_TRUE(made.has_value() || made.error() == std::errc::timed_out);
        EXPECT_GE(sim.elapsed(), 20ms);
        EXPECT_TRUE(sim.disk().exists("/d"));
    });
}

// ---- what goes wrong ----------------------------------------------------------------------------

TEST(simulated_disk, is_full_when_its_pages_are_taken) {
    simulated_disk disk({.capacity = 3 * 4096});
    simulation_options o = plain();
    o.disk = &disk;
    simulation sim(o);
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/f", written);
        const std::string bytes(4 * 4096 + 1, 'x');
        raw_file write(file_action::write);
        slice all(bytes);
        write.fd = f.fd();
        write.offset = 0;
        write.pieces = std::span(&all, 1);
        const auto first = co_await as_result(write);
        EXPECT_EQ(*first, 3 * 4096);
        const auto rest = co_await as_result(f.write_at(3 * 4096, "x"));
        EXPECT_EQ(rest.error(), std::errc::no_space_on_device);
        // What has room already may change.
        co_await f.write_at(4096, "y");
        co_await fs::remove("/f");
        const auto gone_but_open = co_await as_result(fs::write_text("/g", "z"));
        EXPECT_EQ(gone_but_open.error(), std::errc::no_space_on_device);
        co_await f.close();
        co_await fs::write_text("/g", "z");
    });
    EXPECT_EQ(disk.used(), 4096u);
}

TEST(simulated_disk, reads_and_writes_in_part) {
    simulation_options o = plain();
    o.faults.short_reads = o.faults.short_writes = 1;
    simulation sim(o);
    const std::string text = counted_bytes(100'000);
    sim.run([&]() -> task<> {
        co_await fs::write_text("/f", text);
        const std::string whole = co_await fs::read_text("/f");
        EXPECT_EQ(whole, text);
        auto f = co_await fs::open("/f");
        std::string some(1000, '\0');
        const std::size_t n = co_await f.read_at(0, some);
        EXPECT_LT(n, 1000u);
        EXPECT_GT(n, 0u);
    });
}

/// What a call on "/f", which is there and open as `f`, fails with under these faults.
template <class Call>
std::error_code failure_of(const fault_options& faults, Call call) {
    simulated_disk disk;
    disk.write("/f", "content");
    simulation_options o = plain();
    o.disk = &disk;
    o.faults = faults;
    std::error_code code;
    simulation sim(o);
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/f", flags::read | flags::write);
        auto r = co_await as_result(call(f));
        if (!r) code = r.error().code();
    });
    return code;
}

TEST(simulated_disk, fails_as_it_is_told_to) {
    const auto writes = [](fs::file& f) { return f.write_at(0, "x"); };
    const auto syncs = [](fs::file& f) { return f.sync(); };
    std::string room(10, '\0');
    const auto reads = [&room](fs::file& f) { return f.read_at(0, room); };
    EXPECT_EQ(failure_of({.read_errors = 1}, reads), std::errc::io_error);
    EXPECT_EQ(failure_of({.write_errors = 1}, writes), std::errc::io_error);
    EXPECT_EQ(failure_of({.sync_errors = 1}, syncs), std::errc::io_error);
    EXPECT_EQ(failure_of({.read_errors = 1, .write_errors = 1}, syncs), std::error_code());
    const fault_options second{.fails = opcode::file, .fails_at = 2, .fails_with = ENOMEM};
    EXPECT_EQ(failure_of(second, writes), std::errc::not_enough_memory);
}

TEST(simulated_disk, interrupts_calls) {
    simulation_options o = plain();
    o.faults.interruptions = 2;
    simulation sim(o);
    int interrupted = 0;
    sim.run([&]() -> task<> {
        for (int i = 0; i != 50; ++i) {
            raw_file open(file_action::open);
            open.fd = AT_FDCWD;
            open.path = "/tmp";
            const auto r = co_await as_result(open);
            if (*r == -EINTR) ++interrupted;
            if (*r >= 0) sim.backend().discard(static_cast<int>(*r));
        }
    });
    EXPECT_GT(interrupted, 5);
    EXPECT_LT(interrupted, 45);
}

TEST(simulated_disk, refuses_a_path_until_it_is_allowed) {
    simulation sim(plain());
    sim.disk().write("/secret/key", "k");
    sim.disk().refuse("/secret/key");
    sim.disk().refuse("/gone", ENOENT);
    sim.run([&]() -> task<> {
        const auto read = co_await as_result(fs::read_text("/secret/../secret/key"));
        EXPECT_EQ(read.error(), std::errc::permission_denied);
        const auto made = co_await as_result(fs::make_directory("/gone"));
        EXPECT_EQ(made.error(), std::errc::no_such_file_or_directory);
        sim.disk().allow("/secret/key");
        const std::string key = co_await fs::read_text("/secret/key");
        EXPECT_EQ(key, "k");
    });
}

TEST(simulated_disk, holds_back_who_lacks_permission) {
    for (const bool privileged : {false, true}) {
        simulated_disk disk({.privileged = privileged});
        simulation_options o = plain();
        o.disk = &disk;
        simulation sim(o);
        sim.run([&]() -> task<> {
            co_await fs::write_text("/f", "x", 0200);
            const auto read = co_await as_result(fs::read_text("/f"));
            EXPECT_EQ(read.has_value(), privileged);
        });
    }
}

// ---- sync and crash -----------------------------------------------------------------------------

TEST(simulated_disk, loses_for_good_what_a_failed_sync_did_not_write) {
    int lost = 0;
    for (std::uint64_t seed = 1; seed != 100; ++seed) {
        simulated_disk disk;
        disk.write("/f", std::string(4096, 'o'));
        simulation_options o = seeded(seed);
        o.disk = &disk;
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

TEST(simulated_disk, is_lost_to_who_has_it_open_in_a_crash) {
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

TEST(simulated_disk, has_no_power_after_so_many_operations) {
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
        simulation_options o = seeded(seed);
        o.disk = &disk;
        simulation sim(o);
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

TEST(simulated_disk, loses_the_last_names_of_a_directory_first) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::make_directory("/a/2");
            co_await fs::make_directory("/a/3");
        },
        [](const simulated_disk& disk) { return names_of(disk, "/a"); });
    EXPECT_EQ(left, (std::set<std::string>{"", "1", "12", "123"}));
}

TEST(simulated_disk, loses_names_of_two_directories_apart) {
    const auto left = left_by_crashes(
        []() -> task<> {
            co_await fs::make_directory("/a/1");
            co_await fs::make_directory("/b/2");
        },
        [](const simulated_disk& disk) { return names_of(disk, "/a") + names_of(disk, "/b"); });
    EXPECT_EQ(left, (std::set<std::string>{"", "1", "2", "12"}));
}

TEST(simulated_disk, has_moved_a_file_whole_or_not_at_all) {
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

TEST(simulated_disk, keeps_with_a_directory_what_was_moved_out_of_it) {
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

TEST(simulated_disk, may_lose_the_name_of_a_file_that_was_synced) {
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

TEST(simulated_disk, tears_pages_at_sectors) {
    bool torn = false;
    for (std::uint64_t seed = 1; seed != 100 && !torn; ++seed) {
        simulated_disk disk;
        disk.write("/f", std::string(4096, 'o'));
        simulation_options o = seeded(seed);
        o.disk = &disk;
        simulation(o).run([]() -> task<> {
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

TEST(simulated_disk, keeps_what_is_written_to_a_file_that_is_opened_to_sync) {
    const auto left = left_by_crashes(
        []() -> task<> {
            auto f = co_await fs::open("/a/f", written | flags::data_sync);
            co_await fs::sync_directory("/a");
            co_await f.write_at(0, "x");
        },
        [](const simulated_disk& disk) { return disk.read("/a/f"); });
    EXPECT_EQ(left, std::set<std::string>{"x"});
}

TEST(simulated_disk, keeps_everything_when_it_is_turned_off_properly) {
    simulated_disk disk;
    simulation_options o;
    o.disk = &disk;
    simulation(o).run([]() -> task<> { co_await fs::write_text("/f", "x"); });
    disk.sync();
    disk.crash(1);
    EXPECT_EQ(disk.read("/f"), "x");
}

// ---- all of it at once --------------------------------------------------------------------------

/// Several that replace one file while everything goes wrong, and then a crash.
task<> replaces(char who, int& done) {
    for (int i = 0; i != 3; ++i) {
        const std::string text(5000, who);
        const auto replaced = co_await as_result(fs::replace_text("/d/f", text));
        if (replaced) ++done;
    }
}

std::uint64_t replaced_under_all_faults(std::uint64_t seed, int& done) {
    simulated_disk disk({.capacity = 8 * 4096});
    disk.write("/d/f", std::string(5000, 'o'));
    simulation_options o = seeded(seed);
    o.disk = &disk;
    o.descriptors = 6;
    o.faults = fault_options::every();
    simulation sim(o);
    sim.run([&]() -> task<> {
        co_await when_all(replaces('a', done), replaces('b', done), replaces('c', done));
    });
    EXPECT_EQ(sim.backend().open_descriptors(), 0u) << "seed " << seed;
    const auto check = [&](const char* when) {
        const std::string text = disk.read("/d/f");
        EXPECT_EQ(text, std::string(5000, text.empty() ? '-' : text[0])) << when << seed;
    };
    check("before the crash, seed ");
    disk.crash(seed);
    check("after the crash, seed ");
    return sim.trace();
}

TEST(simulated_disk, leaves_a_replaced_file_whole_under_all_faults) {
    int done = 0;
    for (const std::uint64_t seed : seeds(2000)) {
        const std::uint64_t trace = replaced_under_all_faults(seed, done);
        if (seed % 16 == 0) {
            EXPECT_EQ(replaced_under_all_faults(seed, done), trace) << "seed " << seed;
        }
        if (HasFailure()) break;
    }
    EXPECT_GT(done, 1000);
}

// ---- through the file layer ---------------------------------------------------------------------

TEST(simulated_disk, is_walked_in_any_order_and_removed) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 1; seed != 30; ++seed) {
        simulation sim(seeded(seed));
        for (const char* name : {"/d/a", "/d/b/x", "/d/c"}) sim.disk().write(name, name);
        sim.run([&]() -> task<> {
            std::string order;
            auto found = fs::walk("/d");
            while (auto entry = co_await found.next()) {
                order.append(entry->path).append(" ");
            }
            orders.insert(order);
            co_await fs::remove_all("/d");
        });
        EXPECT_FALSE(sim.disk().exists("/d"));
        EXPECT_EQ(sim.disk().used(), 0u);
    }
    EXPECT_GT(orders.size(), 3u);
}

TEST(simulated_disk, is_sent_from) {
    simulation sim(plain());
    const std::string text = counted_bytes(100'000);
    sim.disk().write("/f", text);
    sim.run([&]() -> task<> {
        auto f = co_await fs::open("/f");
        auto listener = open_listener(sim.loop());
        auto sends = [&]() -> task<> {
            auto client = co_await net::connect(listener.local());
            co_await client->send_file(f.fd(), 1000, 50'000);
        };
        auto receives = [&]() -> task<> {
            auto server = co_await listener.accept();
            std::string got;
            for (;;) {
                const buffer piece = co_await server->receive();
                if (piece.size() == 0) break;
                got.append(piece.view());
            }
            EXPECT_EQ(got, text.substr(1000, 50'000));
        };
        co_await when_all(sends(), receives());
    });
}

TEST(simulated_disk, locks_ranges_between_those_who_opened_it) {
    simulation sim(plain());
    sim.run([]() -> task<> {
        auto one = co_await fs::open("/f", both);
        auto two = co_await fs::open("/f", both);
        co_await one.lock(fs::lock_kind::exclusive, {0, 10});
        const bool same = co_await two.try_lock(fs::lock_kind::shared, {5, 1});
        const bool behind = co_await two.try_lock(fs::lock_kind::shared, {10, 0});
        EXPECT_FALSE(same);
        EXPECT_TRUE(behind);
        co_await one.close();
        const bool after = co_await two.try_lock(fs::lock_kind::exclusive);
        EXPECT_TRUE(after);
    });
}

}  // namespace
