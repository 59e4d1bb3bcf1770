// Faults of the files of a simulated world.

#include "support/allocation_count.hpp"
#include "support/sanitized.hpp"
#include "support/temporary_directory.hpp"
#include "unit/testing/raw_file.hpp"
#include "unit/testing/simulated_files.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/when_all.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

using namespace simulated;

namespace {

TEST(simulated_disk_faults, is_full_when_its_pages_are_taken) {
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
        // Bytes that have space already may change.
        co_await f.write_at(4096, "y");
        co_await fs::remove("/f");
        const auto gone_but_open = co_await as_result(fs::write_text("/g", "z"));
        EXPECT_EQ(gone_but_open.error(), std::errc::no_space_on_device);
        co_await f.close();
        co_await fs::write_text("/g", "z");
    });
    EXPECT_EQ(disk.used(), 4096u);
}

TEST(simulated_disk_faults, reads_and_writes_in_part) {
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

/// Returns the error of a call on "/f", which exists and is open as `f`, under these faults.
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

TEST(simulated_disk_faults, fails_as_it_is_told_to) {
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

TEST(simulated_disk_faults, interrupts_calls) {
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

TEST(simulated_disk_faults, refuses_a_path_until_it_is_allowed) {
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

TEST(simulated_disk_faults, never_reaches_the_files_of_the_system) {
    const temporary_directory real;
    const std::string path = real.write("file", "real");
    for (const int number : {EAGAIN, ENOSYS}) {
        for (const std::uint64_t seed : seeds(20)) {
            simulation sim(seeded(seed));
            sim.disk().write(path, "simulated");
            sim.disk().refuse(path, number);
            sim.run([&]() -> task<> {
                const auto removed = co_await as_result(fs::remove(path));
                EXPECT_FALSE(removed);
                if (!removed) {
                    EXPECT_EQ(removed.error().code().value(), number);
                }
                const auto read = co_await as_result(fs::read_text(path));
                EXPECT_FALSE(read);
            });
            ASSERT_TRUE(std::filesystem::exists(path)) << sim.replay();
        }
    }
}

/// Returns true if a program can read a file of its own that nobody may read.
bool reads_what_it_may_not(simulated_disk& disk) {
    simulation_options o = plain();
    o.disk = &disk;
    simulation sim(o);
    bool has_read = false;
    sim.run([&]() -> task<> {
        co_await fs::write_text("/f", "x", 0200);
        const auto read = co_await as_result(fs::read_text("/f"));
        has_read = read.has_value();
    });
    return has_read;
}

TEST(simulated_disk_faults, holds_back_who_lacks_permission) {
    for (const bool privileged : {false, true}) {
        simulated_disk disk({.privileged = privileged});
        EXPECT_EQ(reads_what_it_may_not(disk), privileged);
    }
}

TEST(simulated_disk_faults, holds_back_who_lacks_permission_where_memory_has_failed) {
    if (!coracle::testing::counts_allocations())
        GTEST_SKIP() << "no allocation fails in this build";
    simulated_disk disk({.privileged = false});
    bool failed = true;
    for (std::size_t n = 1; failed; ++n) {
        failed = coracle::testing::fails_at(n, [&] { disk.write("/g", "x"); });
        EXPECT_FALSE(reads_what_it_may_not(disk)) << n;
    }
}

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
    simulation_options o = over(disk, seed);
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

TEST(simulated_disk_faults, leaves_a_replaced_file_whole_under_all_faults) {
    constexpr std::uint64_t many = fewer_if_sanitized(2000);
    int done = 0;
    for (const std::uint64_t seed : seeds(many)) {
        const std::uint64_t trace = replaced_under_all_faults(seed, done);
        if (seed % 16 == 0) {
            EXPECT_EQ(replaced_under_all_faults(seed, done), trace) << "seed " << seed;
        }
        if (HasFailure()) break;
    }
    EXPECT_GT(done, static_cast<int>(many / 2));
}

}  // namespace
