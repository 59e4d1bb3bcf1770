// Watching names that change hands: those that are exchanged, and those that others come to and
// leave again, which looks much the same.

#include "support/watch_scene.hpp"

namespace coracle::testing {
namespace {

using std::chrono_literals::operator""ms;

class watched_exchanges : public watching {
protected:
    void exchange(std::string_view one, std::string_view other) const {
        const std::string a = s.path(one);
        const std::string b = s.path(other);
        EXPECT_EQ(::renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE), 0);
    }
};

}  // namespace

TEST_P(watched_exchanges, are_two_moves) {
    const auto f = [&]() -> task<> {
        std::filesystem::create_directories(s.path("a/in a"));
        std::filesystem::create_directories(s.path("b/in b"));
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        exchange("a", "b");
        // Heard of together with the exchange, and after it.
        s.write("a/in b/f");
        s.write("b/in a/f");
        texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created a/in b/f", "created b/in a/f", "moved a>b/", "moved b>a/"));
        s.write("a/in b/g");
        s.write("b/in a/g");
        s.write("a/g");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created a/g", "created a/in b/g", "created b/in a/g"));
    };
    on.run(f);
}

TEST_P(watched_exchanges, of_a_directory_with_one_outside_are_arrivals) {
    const auto f = [&]() -> task<> {
        std::filesystem::create_directories(s.path("in/site/old"));
        std::filesystem::create_directories(s.path("outside/new"));
        for (const bool at_once : {true, false}) {
            watch_options o;
            o.recursive = true;
            o.settle = 5ms;
            auto w = co_await fs::watch(s.path("in"), std::move(o));
            exchange("outside", "in/site");
            if (!at_once) {
                const texts came = co_await next_sorted(s, w, 2);
                EXPECT_EQ(came, list("created in/site/", "created in/site/old/"));
            }
            s.write("in/site/f");
            // Not watched any more.
            s.write("outside/g");
            s.write("in/end");
            const texts all =
                co_await until_heard(s, w, list("created in/site/f", "created in/end"));
            EXPECT_EQ(std::count(all.begin(), all.end(), "created in/site/"), at_once ? 1 : 0);
            EXPECT_EQ(std::count(all.begin(), all.end(), "created in/site/f"), 1);
            EXPECT_EQ(std::count(all.begin(), all.end(), "removed in/site/"), 0);
            for (const std::string& text : all) EXPECT_EQ(text.find("/g"), text.npos) << text;
            s.remove("in/end");
            s.remove("in/site/f");
            s.remove("outside/g");
        }
    };
    on.run(f);
}

TEST_P(watched_exchanges, come_behind_what_left_the_directory_before) {
    const auto f = [&]() -> task<> {
        std::filesystem::create_directories(s.path("in/site/a"));
        std::filesystem::create_directories(s.path("outside/a"));
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path("in"), std::move(o));
        s.rename("in/site/a", "left");
        exchange("outside", "in/site");
        texts all = co_await until_heard(s, w, list("created in/site/", "created in/site/a/"));
        // Whatever has left is given up by now.
        s.write("in/end");
        all = co_await until_heard(s, w, list("created in/end"));
        s.write("in/site/a/f");
        all = co_await until_heard(s, w, list("created in/site/a/f"));
        EXPECT_LE(all.size(), 2U);
    };
    on.run(f);
}

TEST_P(watched_exchanges, of_a_file_with_one_outside_are_arrivals) {
    const auto f = [&]() -> task<> {
        s.write("conf", "old");
        s.write("conf.new", "new");
        for (const auto settle : {0ms, 5ms}) {
            watch_options o;
            o.settle = settle;
            auto w = co_await fs::watch(s.path("conf"), std::move(o));
            exchange("conf.new", "conf");
            texts all = co_await next(s, w, 1);
            EXPECT_EQ(all, list("created conf"));
            // In and out again, which looks the same.
            s.rename("conf.new", "conf");
            s.rename("conf", "conf.new");
            all = co_await until_heard(s, w, list("removed conf"));
            EXPECT_LE(all.size(), 2U);
            s.write("conf");
        }
    };
    on.run(f);
}

TEST_P(watched_exchanges, are_told_from_a_directory_that_came_and_went) {
    const auto f = [&]() -> task<> {
        s.make_directory("in");
        std::filesystem::create_directories(s.path("outside/below"));
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path("in"), std::move(o));
        for (const bool at_once : {true, false}) {
            s.rename("outside", "in/site");
            if (!at_once) {
                const texts came = co_await next_sorted(s, w, 2);
                EXPECT_EQ(came, list("created in/site/", "created in/site/below/"));
            }
            s.rename("in/site", "outside");
            s.write("outside/below/g");
            s.write("in/end");
            const texts all =
                co_await until_heard(s, w, list("removed in/site/", "created in/end"));
            EXPECT_LE(all.size(), 3U);
            s.remove("in/end");
            s.remove("outside/below/g");
            s.write("in/other");
            const texts last = co_await next(s, w, 2);
            EXPECT_EQ(last, list("removed in/end", "created in/other"));
            s.remove("in/other");
            const texts other = co_await next(s, w, 1);
            EXPECT_EQ(other, list("removed in/other"));
        }
    };
    on.run(f);
}

TEST_P(watched_exchanges, of_which_nothing_is_left_are_removals) {
    const auto f = [&]() -> task<> {
        s.make_directory("in");
        s.write("in/conf");
        s.write("new");
        watch_options o;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path("in"), std::move(o));
        s.rename("new", "in/conf");
        s.remove("in/conf");
        const texts all = co_await next(s, w, 1);
        EXPECT_EQ(all, list("removed in/conf"));
    };
    on.run(f);
}

TEST_P(watched_exchanges, are_told_from_a_directory_moved_onto_an_empty_one_and_back) {
    const auto f = [&]() -> task<> {
        std::filesystem::create_directories(s.path("a/x"));
        s.make_directory("b");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        o.kinds &= ~fs::bit_of(change_kind::attributes);
        auto w = co_await fs::watch(s.path(), std::move(o));
        // The system does not say of one that is open that it is gone.
        const int open_still = ::open(s.path("b").c_str(), O_RDONLY | O_CLOEXEC);
        s.rename("a", "b");
        s.rename("b", "a");
        texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("moved a>b/", "moved b>a/"));
        s.write("a/x/f");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created a/x/f"));
        ::close(open_still);
    };
    on.run(f);
}

TEST_P(watched_exchanges, of_names_that_are_not_asked_for_are_not_told) {
    const auto f = [&]() -> task<> {
        s.make_directory("in");
        s.write("x.tmp");
        watch_options o;
        o.settle = 5ms;
        o.filter = [](std::string_view path, bool) { return !path.ends_with(".tmp"); };
        auto w = co_await fs::watch(s.path("in"), std::move(o));
        s.rename("x.tmp", "in/x.tmp");
        s.rename("in/x.tmp", "x.tmp");
        s.write("in/one");
        texts all = co_await next(s, w, 1);
        EXPECT_EQ(all, list("created in/one"));
        co_await sleep_for(20ms);
        s.write("in/two");
        all = co_await next(s, w, 1);
        EXPECT_EQ(all, list("created in/two"));
    };
    on.run(f);
}

TEST_P(watched_exchanges, of_a_directory_that_left_and_is_made_anew_leave_nothing_behind) {
    const auto f = [&]() -> task<> {
        s.make_directory("in");
        std::filesystem::create_directories(s.path("outside/below"));
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path("in"), std::move(o));
        s.rename("outside", "in/site");
        texts all = co_await next_sorted(s, w, 2);
        EXPECT_EQ(all, list("created in/site/", "created in/site/below/"));
        s.rename("in/site", "outside");
        s.make_directory("in/site");
        s.write("in/one");
        all = co_await until_heard(s, w, list("created in/one"));
        co_await sleep_for(20ms);
        s.write("in/two");
        all = co_await until_heard(s, w, list("created in/two"));
        s.write("outside/below/h");
        s.write("outside/h");
        s.write("in/site/new");
        all = co_await until_heard(s, w, list("created in/site/new"));
        EXPECT_EQ(all, list("created in/site/new"));
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, watched_exchanges, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

}  // namespace coracle::testing
