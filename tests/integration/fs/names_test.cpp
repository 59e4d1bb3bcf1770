#include "support/file_worlds.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/when_all.hpp>

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

using namespace coracle;
using namespace coracle::testing;
namespace std_fs = std::filesystem;

namespace {

class names : public file_world_test {};
INSTANTIATE_TEST_SUITE_P(everywhere, names, ::testing::ValuesIn(file_worlds()), name_of_world);

class walks : public file_world_test {
protected:
    struct found {
        std::map<std::string, fs::entry> entries;
        std::vector<std::string> problems;
    };
    /// The entries of a walk, by the path below its root.
    task<found> all_of(async_generator<fs::entry> walk, std::string root) {
        found all;
        while (auto e = co_await walk.next()) {
            std::string name = e->path.substr(std::min(root.size() + 1, e->path.size()));
            if (e->problem) all.problems.push_back(name);
            EXPECT_TRUE(e->path.ends_with(e->name()));
            all.entries[name] = std::move(*e);
        }
        co_return all;
    }
};
INSTANTIATE_TEST_SUITE_P(everywhere, walks, ::testing::ValuesIn(file_worlds()), name_of_world);

}  // namespace

TEST_P(names, are_made_changed_and_removed) {
    run([&]() -> task<> {
        co_await fs::make_directory(path("d"), 0750);
        EXPECT_EQ((co_await fs::status(path("d"))).mode, 0750u);
        auto again = co_await as_result(fs::make_directory(path("d")));
        EXPECT_TRUE(!again && again.error() == std::errc::file_exists);
        directory_.write("d/a", "content");
        co_await fs::rename(path("d/a"), path("d/b"));
        EXPECT_FALSE(co_await fs::exists(path("d/a")));
        EXPECT_TRUE(co_await fs::exists(path("d/b")));
        EXPECT_FALSE(co_await fs::exists(path("d/b/c")));
        co_await fs::link(path("d/b"), path("d/c"));
        EXPECT_EQ((co_await fs::status(path("d/c"))).links, 2u);
        co_await fs::symlink("b", path("d/l"));
        EXPECT_EQ(co_await fs::read_link(path("d/l")), "b");
        EXPECT_EQ((co_await fs::status(path("d/l"))).size, 7u);
        EXPECT_EQ((co_await fs::link_status(path("d/l"))).kind, file_kind::symlink);
        auto no_link = co_await as_result(fs::read_link(path("d/b")));
        EXPECT_TRUE(!no_link && no_link.error() == std::errc::invalid_argument);
        co_await fs::set_mode(path("d/b"), 0600);
        co_await fs::set_times(path("d/b"), 1, 2);
        const file_status s = co_await fs::status(path("d/b"));
        EXPECT_EQ(s.mode, 0600u);
        EXPECT_EQ(s.modified_ns, 2);
        auto full = co_await as_result(fs::remove_directory(path("d")));
        EXPECT_TRUE(!full && full.error() == std::errc::directory_not_empty);
        static constexpr const char* list_1[] = {"d/b", "d/c", "d/l"};
        for (const char* name : list_1) co_await fs::remove(path(name));
        co_await fs::sync_directory(path("d"));
        co_await fs::remove_directory(path("d"));
    });
    EXPECT_EQ(names_in("."), 0u);
}

TEST_P(names, are_replaced_exchanged_or_left_alone_by_a_rename) {
    directory_.write("a", "A");
    directory_.write("b", "B");
    run([&]() -> task<> {
        auto kept = co_await as_result(fs::rename(path("a"), path("b"), fs::renaming::no_replace));
        EXPECT_TRUE(!kept && kept.error() == std::errc::file_exists);
        if (!kept) {
            std::string told = "rename ";
            told.append(path("a")).append(" to ").append(path("b")).append(": File exists");
            EXPECT_EQ(kept.error().message(), told);
        }
        co_await fs::rename(path("a"), path("b"), fs::renaming::exchange);
        EXPECT_EQ(content_of(path("a")), "B");
        co_await fs::rename(path("a"), path("b"));
    });
    EXPECT_EQ(content_of(path("b")), "B");
    EXPECT_EQ(names_in("."), 1u);
}

TEST_P(names, of_directories_are_made_with_all_above) {
    directory_.write("file", "");
    std_fs::create_directory_symlink(".", path("here"));
    run([&]() -> task<> {
        co_await fs::make_directories(path("a/b//c/d/"));
        EXPECT_TRUE(std_fs::is_directory(path("a/b/c/d")));
        co_await fs::make_directories(path("a/b/c/d"));
        co_await fs::make_directories(path("here"));
        co_await fs::make_directories("/");
        static constexpr const char* list_2[] = {"file", "file/x", "file/x/y"};
        for (const char* wrong : list_2) {
            auto r = co_await as_result(fs::make_directories(path(wrong)));
            EXPECT_FALSE(r) << wrong;
        }
        auto none = co_await as_result(fs::make_directories(""));
        EXPECT_TRUE(!none && none.error() == std::errc::no_such_file_or_directory);
    });
}

TEST_P(names, are_removed_with_all_below_and_links_are_not_followed) {
    directory_.write("keep/this", "x");
    directory_.write("tree/a/b/c", "x");
    directory_.write("tree/a/d", "x");
    std_fs::create_directory_symlink("../keep", path("tree/link"));
    std_fs::create_symlink("nowhere", path("tree/a/dangling"));
    std_fs::create_symlink("tree", path("to_tree"));
    run([&]() -> task<> {
        EXPECT_EQ(co_await fs::remove_all(path("to_tree")), 1u);
        EXPECT_EQ(co_await fs::remove_all(path("tree")), 7u);
        EXPECT_EQ(co_await fs::remove_all(path("tree")), 0u);
        EXPECT_EQ(co_await fs::remove_all(path("keep/this")), 1u);
    });
    EXPECT_EQ(names_in("."), 1u);
}

TEST_P(names, that_are_dots_alone_are_not_removed_with_what_is_there) {
    directory_.write("keep/sub/f", "f");
    run([&]() -> task<> {
        for (const char* odd :
             {"keep/sub/..", "keep/sub/../", "keep/sub/.", "keep/none/..", ".."}) {
            auto refused = co_await as_result(fs::remove_all(path(odd)));
            EXPECT_TRUE(!refused && refused.error() == std::errc::invalid_argument) << odd;
        }
    });
    EXPECT_TRUE(std_fs::exists(path("keep/sub/f")));
}

TEST_P(names, of_links_are_removed_as_links_whatever_slashes_follow) {
    directory_.write("kept/f", "f");
    std_fs::create_directory_symlink("kept", path("link"));
    std_fs::create_directories(path("gone/x"));
    run([&]() -> task<> {
        EXPECT_EQ(co_await fs::remove_all(path("link//")), 1u);
        EXPECT_EQ(co_await fs::remove_all(path("gone/")), 2u);
    });
    EXPECT_TRUE(std_fs::exists(path("kept/f")));
    EXPECT_EQ(names_in("."), 1u);
}

TEST_P(names, are_removed_to_a_depth_that_has_a_limit) {
    std_fs::path deep = directory_.path() / "tree";
    for (unsigned i = 0; i != fs::most_levels_removed; ++i) deep /= "d";
    std_fs::create_directories(deep);
    run([&]() -> task<> {
        auto r = co_await as_result(fs::remove_all(path("tree")));
        EXPECT_TRUE(!r && r.error() == errc::limit_exceeded);
        if (r) co_return;
        EXPECT_EQ(r.error().operation(), "most_levels_removed");
        EXPECT_EQ(r.error().subject(), deep.string());
        EXPECT_EQ(co_await fs::remove_all(path("tree/d")), fs::most_levels_removed);
    });
}

TEST_P(names, of_others_are_safe_while_a_directory_is_swapped_for_a_link) {
    for (int i = 0; i != 40; ++i) {
        directory_.write("keep/" + std::to_string(i), "x");
        directory_.write("tree/d/" + std::to_string(i), "x");
    }
    std_fs::create_directory_symlink(path("keep"), path("link"));
    std::atomic<bool> over = false;
    std::thread racer([&] {
        std::error_code ignored;
        while (!over) {
            std_fs::rename(path("tree/d"), path("aside"), ignored);
            std_fs::rename(path("link"), path("tree/d"), ignored);
            std_fs::rename(path("tree/d"), path("link"), ignored);
            std_fs::rename(path("aside"), path("tree/d"), ignored);
        }
    });
    run([&]() -> task<> {
        for (int i = 0; i != 50; ++i) {
            static_cast<void>(co_await as_result(fs::remove_all(path("tree"))));
            static_cast<void>(co_await as_result(fs::make_directories(path("tree/d"))));
        }
    });
    over = true;
    racer.join();
    EXPECT_EQ(names_in("keep"), 40u);
}

TEST_P(names, hold_no_nul) {
    directory_.write("f", "kept");
    std_fs::create_symlink("f", path("link"));
    run([&]() -> task<> {
        const std::string cut = path("link") + std::string("\0x", 2);
        auto led = co_await as_result(fs::read_link(cut));
        EXPECT_TRUE(!led && led.error() == std::errc::invalid_argument);
        auto replaced = co_await as_result(fs::replace_text(cut, "new"));
        EXPECT_TRUE(!replaced && replaced.error() == std::errc::invalid_argument);
        fs::copy_options over;
        over.overwrite = true;
        auto copied = co_await as_result(fs::copy_file("/proc/version", cut, std::move(over)));
        EXPECT_TRUE(!copied && copied.error() == std::errc::invalid_argument);
    });
    EXPECT_EQ(content_of(path("f")), "kept");
}

TEST_P(walks, tell_of_everything_below) {
    directory_.write("t/a/one", "1");
    directory_.write("t/a/two", "22");
    directory_.write("t/b/c/three", "333");
    std_fs::create_directory_symlink("b", path("t/to_b"));
    ASSERT_EQ(::mkfifo(path("t/fifo").c_str(), 0600), 0);
    run([&]() -> task<> {
        const found all = co_await all_of(fs::walk(path("t")), path("t"));
        EXPECT_EQ(all.entries.size(), 8u);
        EXPECT_TRUE(all.problems.empty());
        EXPECT_EQ(all.entries.at("a").kind, file_kind::directory);
        EXPECT_EQ(all.entries.at("b/c/three").depth, 2u);
        EXPECT_TRUE(all.entries.at("b/c/three").is_regular());
        EXPECT_EQ(all.entries.at("fifo").kind, file_kind::fifo);
        EXPECT_EQ(all.entries.at("to_b").kind, file_kind::symlink);
        EXPECT_TRUE(all.entries.at("to_b").link);
        const found flat = co_await all_of(fs::list(path("t")), path("t"));
        EXPECT_EQ(flat.entries.size(), 4u);
        fs::walk_options pruned;
        pruned.enter = [](const fs::entry& e) { return e.name() != "a"; };
        const found some = co_await all_of(fs::walk(path("t/"), std::move(pruned)), path("t"));
        EXPECT_EQ(some.entries.size(), 6u);
        EXPECT_EQ(some.entries.count("a"), 1u);
        fs::walk_options shallow;
        shallow.depth = 1;
        const found upper = co_await all_of(fs::walk(path("t"), std::move(shallow)), path("t"));
        EXPECT_EQ(upper.entries.size(), 7u);
    });
}

TEST_P(walks, follow_links_when_asked_and_find_loops) {
    directory_.write("t/a/one", "1");
    std_fs::create_directory_symlink("..", path("t/a/up"));
    std_fs::create_directory_symlink("a", path("t/to_a"));
    std_fs::create_symlink("self", path("t/self"));
    std_fs::create_symlink("a/one", path("t/to_one"));
    run([&]() -> task<> {
        fs::walk_options follows;
        follows.follow = true;
        const found all = co_await all_of(fs::walk(path("t"), std::move(follows)), path("t"));
        EXPECT_EQ(all.entries.size(), 8u);
        EXPECT_TRUE(all.entries.at("to_a/one").is_regular());
        EXPECT_TRUE(all.entries.at("to_one").is_regular() && all.entries.at("to_one").link);
        EXPECT_EQ(all.entries.at("self").kind, file_kind::symlink);
        EXPECT_EQ(all.problems.size(), 2u);
        static constexpr const char* list_3[] = {"a/up", "to_a/up"};
        for (const char* loop : list_3) {
            const fs::entry& e = all.entries.at(loop);
            EXPECT_TRUE(e.problem && *e.problem == std::errc::too_many_symbolic_link_levels);
            EXPECT_TRUE(e.problem && e.problem->subject() == path(std::string("t/").append(loop)));
        }
    });
}

TEST_P(walks, go_on_when_a_directory_has_vanished) {
    directory_.write("t/a/one", "1");
    directory_.write("t/b/two", "2");
    run([&]() -> task<> {
        fs::walk_options o;
        o.enter = [&](const fs::entry& e) {
            if (e.name() == "a") std_fs::remove_all(e.path);
            return true;
        };
        const found all = co_await all_of(fs::walk(path("t"), std::move(o)), path("t"));
        EXPECT_EQ(all.problems, std::vector<std::string>(1, "a"));
        EXPECT_EQ(all.entries.count("b/two"), 1u);
        auto none = fs::walk(path("none"));
        auto r = co_await as_result(none.next());
        EXPECT_TRUE(!r && r.error() == std::errc::no_such_file_or_directory);
        EXPECT_TRUE(!r && r.error().subject() == path("none"));
    });
}

TEST_P(walks, have_a_limit_of_levels) {
    directory_.write("t/1/2/3/4", "x");
    run([&]() -> task<> {
        fs::walk_options o;
        o.levels = 3;
        const found all = co_await all_of(fs::walk(path("t"), std::move(o)), path("t"));
        EXPECT_EQ(all.entries.size(), 3u);
        EXPECT_EQ(all.problems, std::vector<std::string>(1, "1/2/3"));
        const auto& problem = all.entries.at("1/2/3").problem;
        EXPECT_TRUE(problem && *problem == errc::limit_exceeded);
        o = fs::walk_options();
        o.levels = 4;
        const found whole = co_await all_of(fs::walk(path("t"), std::move(o)), path("t"));
        EXPECT_TRUE(whole.problems.empty());
    });
}

TEST_P(walks, come_by_each_of_many_names_once) {
    constexpr int count = 1'000;
    for (int i = 0; i != count; ++i) {
        std::ofstream(path("many_" + std::to_string(i) + std::string(100, 'x')));
    }
    run([&]() -> task<> {
        const found all = co_await all_of(fs::list(root()), root());
        EXPECT_EQ(all.entries.size(), static_cast<std::size_t>(count));
        EXPECT_EQ(co_await fs::remove_all(root()), static_cast<std::uint64_t>(count + 1));
    });
    std_fs::create_directory(root());
}

TEST_P(walks, may_be_left_before_their_end) {
    directory_.write("t/a/b/c", "x");
    run([&]() -> task<> {
        auto all = fs::walk(path("t"));
        EXPECT_TRUE(co_await all.next());
        EXPECT_TRUE(co_await all.next());
    });
}

TEST(a_walk, of_a_hundred_thousand_names_takes_no_more_memory_than_one_of_few) {
    std::error_code none;
    const bool in_memory = std_fs::is_directory("/dev/shm", none);
    const std::string around = in_memory ? "/dev/shm" : fs::temporary_path();
    fs::temporary_directory here = block_on([&]() -> task<fs::temporary_directory> {
        co_return co_await fs::make_temporary_directory(around);
    });
    for (int i = 0; i != 100'000; ++i) {
        ASSERT_EQ(::symlink("x", (here / std::to_string(i)).c_str()), 0);
    }
    const auto main = [&]() -> task<> {
        auto all = fs::walk(here.path());
        std::size_t count = 0;
        std::size_t before = 0;
        std::size_t most = 0;
        while (co_await all.next()) {
            const std::size_t now = ::mallinfo2().uordblks;
            if (count++ == 0) before = now;
            most = std::max(most, now);
        }
        EXPECT_EQ(count, 100'000u);
        EXPECT_LT(most, before + 256 * 1024);
    };
    block_on(main);
    std_fs::remove_all(here.keep());
}
