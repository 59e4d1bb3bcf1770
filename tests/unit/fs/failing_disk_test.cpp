#include <coracle/fs/copy.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/testing/simulated_disk.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

using namespace coracle;
using namespace coracle::testing;

// Every operation that consists of several, when each of them fails in turn: it tells, leaves
// nothing half done behind, and closes what it has opened.

namespace {

/// Makes the content of "/data" before an operation begins.
simulated_disk prepared() {
    simulated_disk disk;
    disk.write("/data/f", "old");
    disk.write("/data/tree/a/g", "g");
    disk.write("/data/tree/h", "h");
    return disk;
}

struct outcome {
    bool failed = false;
    error why;
    std::uint64_t operations = 0;
    simulated_disk disk;
};

/// Runs `f` while the `at`-th operation on files fails.
template <class F>
outcome run_failing(F f, std::uint64_t at, int number, std::uint64_t seed = 1) {
    outcome o;
    o.disk = prepared();
    simulation_options options;
    options.seed = seed;
    options.disk = &o.disk;
    options.faults.fails = opcode::file;
    options.faults.fails_at = at;
    options.faults.fails_with = number;
    simulation world(options);
    world.run([&]() -> task<> {
        auto r = co_await as_result(f());
        o.failed = !r.has_value();
        if (!r) o.why = r.error();
    });
    EXPECT_EQ(world.backend().open_descriptors(), 0u);
    o.operations = world.backend().submitted(opcode::file);
    return o;
}

/// Calls `check(outcome)` for each operation that fails, until none is left. What others do as well
/// may fail untold.
template <class F, class Check>
void fail_each(F f, Check check) {
    constexpr std::uint64_t most = 200;
    std::uint64_t failures = 0;
    std::uint64_t at = 1;
    for (bool more = true; more && at != most; ++at) {
        for (const int number : {EIO, ENOSPC, EMFILE}) {
            SCOPED_TRACE("operation " + std::to_string(at) + " fails with " +
                         std::to_string(number));
            outcome o = run_failing(f, at, number);
            more = at <= o.operations;
            if (o.failed) {
                ++failures;
                EXPECT_EQ(o.why.code().value(), number) << o.why;
                EXPECT_NE(o.why.subject(), "") << o.why;
            }
            check(o);
        }
    }
    EXPECT_GE(failures, 3 * (at - 4));
    EXPECT_LT(at, most);
}

}  // namespace

TEST(a_failing_disk, leaves_the_old_or_the_new_of_what_is_replaced) {
    const auto replaces = [] { return fs::replace_text("/data/f", "new"); };
    fail_each(replaces, [](const outcome& o) {
        const std::string text = o.disk.read("/data/f");
        EXPECT_TRUE(text == "new" || (o.failed && text == "old")) << text;
        EXPECT_EQ(o.disk.list("/data").size(), 2u);
    });
}

TEST(a_failing_disk, leaves_no_half_of_a_copy) {
    const auto copies = [] { return fs::copy_file("/data/f", "/data/copy"); };
    fail_each(copies, [](const outcome& o) {
        const bool there = o.disk.exists("/data/copy");
        EXPECT_TRUE(there || o.failed);
        EXPECT_EQ(o.disk.list("/data").size(), there ? 3u : 2u);
        EXPECT_TRUE(!there || o.disk.read("/data/copy") == "old");
    });
}

TEST(a_failing_disk, leaves_a_copy_of_a_tree_that_can_be_gone_on_with) {
    const auto copies = [] { return fs::copy_tree("/data/tree", "/data/copy"); };
    fail_each(copies, [](const outcome& o) {
        EXPECT_TRUE(o.failed || o.disk.read("/data/copy/a/g") == "g");
        if (!o.disk.exists("/data/copy/a")) return;
        EXPECT_LE(o.disk.list("/data/copy/a").size(), 1u);
    });
}

TEST(a_failing_disk, tells_what_was_not_removed_and_forgets_nothing) {
    const auto removes = [] { return fs::remove_all("/data/tree"); };
    fail_each(removes, [](const outcome& o) {
        EXPECT_EQ(o.disk.exists("/data/tree"), o.failed);
        EXPECT_TRUE(o.disk.exists("/data/f"));
    });
}

TEST(a_failing_disk, tells_a_walk_of_each_entry_that_it_fails_at) {
    const auto walks = []() -> task<std::size_t> {
        auto all = fs::walk("/data");
        std::size_t names = 0;
        std::optional<error> problem;
        while (auto e = co_await all.next()) {
            ++names;
            if (e->problem) problem = e->problem;
            const std::string below = e->path.substr(std::min<std::size_t>(e->path.size(), 6));
            EXPECT_EQ(e->depth, std::count(below.begin(), below.end(), '/')) << e->path;
        }
        if (problem) throw_exception(*problem);
        co_return names;
    };
    fail_each(walks, [](const outcome&) {});
}

TEST(a_failing_disk, leaves_no_temporary_file_behind) {
    const auto makes = []() -> task<> {
        fs::temporary_file f = co_await fs::make_temporary_file("/data");
        co_await f.content().write_at(0, "text");
        co_await f.link_as("/data/named");
        fs::temporary_directory d = co_await fs::make_temporary_directory("/data");
        co_await fs::write_text(d / "x", "x");
        co_await d.remove();
    };
    fail_each(makes, [](const outcome& o) {
        for (const std::string& name : o.disk.list("/data")) {
            EXPECT_TRUE(name == "f" || name == "tree" || name == "named") << name;
        }
    });
}

TEST(a_simulated_disk, is_worked_on_in_small_steps_that_are_interrupted) {
    for (std::uint64_t seed = 1; seed != 50; ++seed) {
        simulated_disk disk = prepared();
        simulation_options options;
        options.seed = seed;
        options.disk = &disk;
        options.faults.short_reads = 2;
        options.faults.short_writes = 2;
        options.faults.interruptions = 3;
        simulation world(options);
        const std::string text(50'000, 'x');
        world.run([&]() -> task<> {
            co_await fs::replace_text("/data/f", text);
            co_await fs::append_text("/data/f", "y");
            co_await fs::copy_file("/data/f", "/data/copy");
            const std::string back = co_await fs::read_text("/data/copy");
            EXPECT_TRUE(back == text + 'y');
            const fs::copied_tree copied = co_await fs::copy_tree("/data/tree", "/data/again");
            EXPECT_EQ(copied.files, 2u);
            EXPECT_EQ(co_await fs::remove_all("/data"), 11u);
        });
        EXPECT_FALSE(disk.exists("/data"));
    }
}
