// The files of a simulated world: what happens when, and what tests see of it.

#include "unit/testing/raw_file.hpp"
#include "unit/testing/simulated_files.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <utility>

using namespace simulated;
namespace {

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

TEST(simulated_disk, dates_what_is_done_by_hand_behind_all_else) {
    simulated_disk disk;
    const auto changed = [&] { return disk.status("/f")->modified_ns; };
    disk.write("/f", "one");
    const std::int64_t first = changed();
    disk.write("/f", "two");
    EXPECT_GT(changed(), first);
    simulation_options o = plain();
    o.disk = &disk;
    simulation sim(o);
    sim.run([&]() -> task<> {
        co_await fs::write_text("/f", "three");
        const std::int64_t third = changed();
        disk.write("/f", "four");
        EXPECT_GT(changed(), third);
        disk.crash(1);
        EXPECT_GT(changed(), third);
    });
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
                const auto piece = co_await as_result(server->receive());
                if (!piece) break;
                got.append(piece->view());
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
