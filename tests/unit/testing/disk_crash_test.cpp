// The files after a loss of power, over ten thousand seeds.

#include "support/sanitized.hpp"
#include "testing/random.hpp"
#include "unit/testing/simulated_files.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/whole_file.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

using namespace simulated;
using coracle::testing::detail::random_source;

namespace {

constexpr std::uint64_t many = fewer_if_sanitized(10'000);

/// Runs `program` until the power goes, at one of its operations or after the last, as the seed
/// has it, and crashes.
template <class F>
void run_into_crash(simulated_disk& disk, std::uint64_t seed, F program) {
    // Some more than the longest of these programs has.
    constexpr std::uint64_t most_operations = 48;
    random_source chance(seed * 7 + 1);
    disk.cut_power_after(chance.up_to(most_operations));
    simulation_options o = over(disk, seed);
    o.faults.short_writes = 8;
    simulation sim(o);
    sim.run([&]() -> task<> { co_await as_result(program()); });
    disk.crash(seed);
}

// ---- a log --------------------------------------------------------------------------------------

/// The steps of a program that make its log durable.
struct log_habits {
    bool syncs_records = true;
    bool syncs_directory = true;
};

/// Records of different sizes, over several pages, each of which shows whether it is whole.
std::string record(unsigned number) {
    return "record " + std::to_string(number) + ' ' +
           std::string(37 + number * 311 % 1900, static_cast<char>('a' + number % 26)) + ';';
}

constexpr unsigned records = 8;

task<> keep_log(log_habits how, unsigned& acknowledged) {
    auto log = co_await fs::open("/data/log", written | flags::append, 0644);
    if (how.syncs_directory) co_await fs::sync_directory("/data");
    for (unsigned i = 0; i != records; ++i) {
        const std::string bytes = record(i);
        co_await log.append(bytes);
        if (how.syncs_records) co_await log.sync_data();
        acknowledged = i + 1;
    }
}

/// Returns what is wrong with the log after a crash; empty when nothing is.
std::string fault_of_log(const simulated_disk& disk, unsigned acknowledged) {
    if (!disk.exists("/data/log")) return acknowledged == 0 ? "" : "the log is gone";
    const std::string log = disk.read("/data/log");
    std::size_t at = 0;
    unsigned found = 0;
    while (found != records && std::string_view(log).substr(at).starts_with(record(found))) {
        at += record(found++).size();
    }
    if (found < acknowledged) return "record " + std::to_string(found) + " is gone";
    // The rest was not acknowledged: one record at most, in any state.
    const std::size_t tail = log.size() - at;
    if (found != records && tail > record(found).size()) return "there is more than was written";
    return "";
}

std::string fault_of_log(log_habits how, std::uint64_t seed) {
    simulated_disk disk;
    disk.make_directory("/data");
    unsigned acknowledged = 0;
    run_into_crash(disk, seed, [&] { return keep_log(how, acknowledged); });
    return fault_of_log(disk, acknowledged);
}

TEST(simulated_crash, keeps_every_record_that_was_synced) {
    for (const std::uint64_t seed : seeds(many)) {
        ASSERT_EQ(fault_of_log({}, seed), "") << "seed " << seed;
    }
}

/// The first seed for which the checker finds something wrong, or 0.
std::uint64_t first_fault(const std::function<std::string(std::uint64_t)>& check) {
    for (std::uint64_t seed = 1; seed != 2000; ++seed) {
        if (!check(seed).empty()) return seed;
    }
    return 0;
}

TEST(simulated_crash, finds_a_log_that_is_not_synced) {
    EXPECT_NE(first_fault([](auto seed) { return fault_of_log({.syncs_records = false}, seed); }),
              0u);
}

TEST(simulated_crash, finds_a_log_whose_name_is_not_synced) {
    EXPECT_NE(first_fault([](auto seed) { return fault_of_log({.syncs_directory = false}, seed); }),
              0u);
}

// ---- atomic replace -----------------------------------------------------------------------------

/// The steps of a program that make a replaced file old or new.
struct replace_habits {
    bool syncs_file = true;
    bool syncs_directory = true;
    bool renames = true;
};

constexpr unsigned versions = 4;

/// Several pages that are all of one version.
std::string text_of_version(unsigned number) {
    std::string text = "version " + std::to_string(number) + '\n';
    const std::size_t size = 3 * 4096 + 100 + number * 1717 % 5000;
    while (text.size() < size) text += "this is " + std::to_string(number) + '\n';
    return text;
}

const std::string& version(unsigned number) {
    static const std::vector<std::string> all = [] {
        std::vector<std::string> texts;
        for (unsigned i = 0; i <= versions; ++i) texts.push_back(text_of_version(i));
        return texts;
    }();
    return all[number];
}

task<> replace(replace_habits how, std::string text) {
    const char* const name = how.renames ? "/data/.config.part" : "/data/config";
    auto file = co_await fs::open(name, written | flags::truncate, 0644);
    co_await file.write_at(0, text);
    if (how.syncs_file) co_await file.sync();
    co_await file.close();
    if (how.renames) co_await fs::rename(name, "/data/config");
    if (how.syncs_directory) co_await fs::sync_directory("/data");
}

task<> keep_replacing(replace_habits how, unsigned& begun, unsigned& acknowledged) {
    for (unsigned i = 1; i <= versions; ++i) {
        begun = i;
        co_await replace(how, version(i));
        acknowledged = i;
    }
}

/// Returns what is wrong with a file that was replaced; empty when nothing is.
std::string fault_of_replace(const simulated_disk& disk, unsigned begun, unsigned acknowledged) {
    for (const std::string& name : disk.list("/data")) {
        if (name != "config" && !name.starts_with('.')) return "there is also " + name;
    }
    if (!disk.exists("/data/config")) return "it is gone";
    const std::string text = disk.read("/data/config");
    for (unsigned i = 0; i <= versions; ++i) {
        if (text != version(i)) continue;
        if (i < acknowledged) return "it is older than what was acknowledged";
        return i > begun ? "it is newer than what was begun" : "";
    }
    return "it is a mixture";
}

template <class F>
std::string fault_of_replace(std::uint64_t seed, F program) {
    simulated_disk disk;
    disk.write("/data/config", version(0));
    unsigned begun = 0;
    unsigned acknowledged = 0;
    run_into_crash(disk, seed, [&] { return program(begun, acknowledged); });
    return fault_of_replace(disk, begun, acknowledged);
}

std::string fault_of_replace(replace_habits how, std::uint64_t seed) {
    return fault_of_replace(seed, [how](unsigned& begun, unsigned& acknowledged) {
        return keep_replacing(how, begun, acknowledged);
    });
}

TEST(simulated_crash, leaves_the_old_or_the_new_of_a_file_that_is_replaced_by_hand) {
    for (const std::uint64_t seed : seeds(many)) {
        ASSERT_EQ(fault_of_replace(replace_habits(), seed), "") << "seed " << seed;
    }
}

task<> keep_replacing_text(unsigned& begun, unsigned& acknowledged, unsigned& last) {
    for (unsigned i = 1; i <= versions; ++i) {
        begun = i;
        co_await fs::replace_text("/data/config", version(i));
        last = acknowledged = i;
    }
}

TEST(simulated_crash, leaves_the_old_or_the_new_of_what_replace_text_replaces) {
    std::set<unsigned> reached;
    for (const std::uint64_t seed : seeds(many)) {
        unsigned last = 0;
        const auto program = [&last](unsigned& begun, unsigned& acknowledged) -> task<> {
            co_await keep_replacing_text(begun, acknowledged, last);
        };
        ASSERT_EQ(fault_of_replace(seed, program), "") << "seed " << seed;
        reached.insert(last);
    }
    // The power went at every stage.
    if (seeds(many).size() == many) {
        EXPECT_EQ(reached.size(), versions + 1);
    }
}

task<> keep_replacing_hastily(unsigned& begun, unsigned& acknowledged) {
    for (unsigned i = 1; i <= versions; ++i) {
        begun = i;
        co_await fs::replace_text("/data/config", version(i), {.durable = false});
        acknowledged = i;
    }
}

TEST(simulated_crash, finds_a_replace_text_that_is_not_durable) {
    EXPECT_NE(first_fault([](auto seed) { return fault_of_replace(seed, keep_replacing_hastily); }),
              0u);
}

TEST(simulated_crash, finds_a_replace_without_a_sync_of_the_file) {
    EXPECT_NE(first_fault([](auto seed) { return fault_of_replace({.syncs_file = false}, seed); }),
              0u);
}

TEST(simulated_crash, finds_a_replace_that_is_acknowledged_before_its_name_is_synced) {
    EXPECT_NE(
        first_fault([](auto seed) { return fault_of_replace({.syncs_directory = false}, seed); }),
        0u);
}

// ---- a tree -------------------------------------------------------------------------------------

TEST(simulated_crash, loses_nothing_of_a_tree_that_was_copied_durably) {
    for (std::uint64_t seed = 1; seed != 200; ++seed) {
        simulated_disk disk;
        disk.write("/from/a/f", "f");
        disk.make_directory("/from/empty");
        disk.make_directory("/there");
        simulation sim(over(disk, seed));
        sim.run([&]() -> task<> {
            co_await fs::symlink("a/f", "/from/link");
            fs::copy_options o;
            o.durable = true;
            co_await fs::copy_tree("/from", "/there/new/to", std::move(o));
        });
        disk.crash(seed);
        SCOPED_TRACE("seed " + std::to_string(seed));
        ASSERT_TRUE(disk.exists("/there/new/to/link"));
        ASSERT_TRUE(disk.exists("/there/new/to/empty"));
        ASSERT_EQ(disk.read("/there/new/to/a/f"), "f");
    }
}

TEST(simulated_crash, finds_a_file_that_is_written_over) {
    EXPECT_NE(first_fault([](auto seed) { return fault_of_replace({.renames = false}, seed); }),
              0u);
}

}  // namespace
