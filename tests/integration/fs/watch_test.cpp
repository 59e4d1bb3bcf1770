// Watching real directories, on each backend of this machine. What the system tells it has told
// before a call that changes a file returns, so nothing here waits for luck.

#include "support/open_descriptors.hpp"
#include "support/watch_scene.hpp"

#include <coracle/fs/watch.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

using namespace coracle;
using namespace coracle::testing;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""us;

TEST_P(watching, tells_each_kind_of_change_as_it_comes) {
    const auto f = [&]() -> task<> {
        watch_options o;
        o.settle = 0ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.write("a");
        const texts made = co_await next(s, w, 2);
        EXPECT_EQ(made, list("created a", "modified a"));
        EXPECT_EQ(::chmod(s.path("a").c_str(), 0600), 0);
        s.rename("a", "b");
        s.remove("b");
        s.make_directory("d");
        const texts rest = co_await next(s, w, 4);
        EXPECT_EQ(rest, list("attributes a", "moved a>b", "removed b", "created d/"));
    };
    on.run(f);
}

TEST_P(watching, makes_one_of_a_burst_and_nothing_of_what_came_and_went) {
    const auto f = [&]() -> task<> {
        auto w = co_await fs::watch(s.path());
        for (int i = 0; i != 100; ++i) {
            s.write("a");
            s.write("b");
        }
        s.write("c");
        s.remove("c");
        const time_point before = loop::current()->now();
        const texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created a", "created b"));
        EXPECT_GE(loop::current()->now() - before, 50ms);
    };
    on.run(f);
}

TEST_P(watching, tells_whole_writes_when_asked) {
    const auto f = [&]() -> task<> {
        s.write("a");
        watch_options o;
        o.whole_writes = true;
        o.settle = 0ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        const int fd = ::open(s.path("a").c_str(), O_WRONLY | O_CLOEXEC);
        for (int i = 0; i != 3; ++i) EXPECT_EQ(::write(fd, "x", 1), 1);
        s.write("end");
        ::close(fd);
        const texts all = co_await next(s, w, 3);
        EXPECT_EQ(all, list("created end", "modified end", "modified a"));
    };
    on.run(f);
}

TEST_P(watching, tells_who_opens_reads_and_closes_a_file_when_asked) {
    const auto f = [&]() -> task<> {
        s.write("a");
        s.make_directory("d");
        watch_options o;
        o.settle = 0ms;
        o.kinds = fs::bit_of(change_kind::opened) | fs::bit_of(change_kind::accessed) |
                  fs::bit_of(change_kind::closed_write) | fs::bit_of(change_kind::closed_nowrite);
        auto w = co_await fs::watch(s.path(), std::move(o));
        const int directory = ::open(s.path("d").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        ::close(directory);
        const int fd = ::open(s.path("a").c_str(), O_RDONLY | O_CLOEXEC);
        char byte = 0;
        EXPECT_EQ(::read(fd, &byte, 1), 1);
        ::close(fd);
        s.write("a");
        const texts all = co_await next(s, w, 5);
        EXPECT_EQ(all,
                  list("opened a", "accessed a", "closed_nowrite a", "opened a", "closed_write a"));
    };
    on.run(f);
}

TEST_P(watching, tells_of_no_opening_and_closing_unless_asked) {
    const auto f = [&]() -> task<> {
        s.write("a");
        watch_options o;
        o.settle = 0ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.write("a");
        s.remove("a");
        const texts all = co_await next(s, w, 2);
        EXPECT_EQ(all, list("modified a", "removed a"));
    };
    on.run(f);
}

TEST_P(watching, fails_where_there_is_nothing_when_something_must_be_there) {
    const auto f = [&]() -> task<> {
        for (const bool recursive : {false, true}) {
            watch_options o;
            o.recursive = recursive;
            o.must_exist = !recursive;
            const auto none = co_await as_result(fs::watch(s.path("none"), std::move(o)));
            EXPECT_FALSE(none);
            if (none) continue;
            EXPECT_EQ(none.error(), std::errc::no_such_file_or_directory);
            EXPECT_EQ(none.error().subject(), s.path("none"));
        }
        s.write("file");
        watch_options o;
        o.must_exist = true;
        auto w = co_await fs::watch(s.path("file"), std::move(o));
        s.remove("file");
        const texts all = co_await next(s, w, 1);
        EXPECT_EQ(all, list("removed file"));
    };
    on.run(f);
}

TEST_P(watching, follows_directories_as_they_appear_move_and_go) {
    const auto f = [&]() -> task<> {
        s.make_directory("old");
        s.make_directory("old/deep");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.write("old/deep/f");
        texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created old/deep/f"));
        // All of it is there before anybody has looked.
        std::filesystem::create_directories(s.path("new/x/y"));
        s.write("new/x/y/f");
        s.write("new/g");
        all = co_await next_sorted(s, w, 5);
        EXPECT_EQ(all, list("created new/", "created new/g", "created new/x/", "created new/x/y/",
                            "created new/x/y/f"));
        s.rename("new/x", "old/z");
        s.write("old/z/y/h");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created old/z/y/h", "moved new/x>old/z/"));
        s.remove("old/z");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("removed old/z/", "removed old/z/y/", "removed old/z/y/f",
                            "removed old/z/y/h"));
    };
    on.run(f);
}

TEST_P(watching, follows_what_was_made_in_a_directory_that_is_moved_at_once) {
    const auto f = [&]() -> task<> {
        s.make_directory("a");
        s.make_directory("a/known");
        s.write("a/known/told");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.make_directory("a/x");
        s.make_directory("a/x/y");
        s.rename("a", "b");
        texts all = co_await next_sorted(s, w, 3);
        EXPECT_EQ(all, list("created a/x/", "created b/x/y/", "moved a>b/"));
        s.write("b/x/y/f");
        s.write("b/known/g");
        // Known files are not reported anew.
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created b/known/g", "created b/x/y/f"));
    };
    on.run(f);
}

TEST_P(watching, misses_no_file_of_directories_that_fill_while_they_are_read) {
    const auto f = [&]() -> task<> {
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        std::vector<std::string> wanted;
        for (int i = 0; i != 50; ++i) {
            const std::string d = "d" + std::to_string(i);
            s.make_directory(d);
            wanted.push_back("created " + d + '/');
            // Half of them are filled at once, and half while the first are read.
            if (i % 2 == 0) s.write(d + "/f");
        }
        for (int i = 0; i != 50; ++i) {
            const std::string d = "d" + std::to_string(i);
            if (i % 2 != 0) s.write(d + "/f");
            wanted.push_back("created " + d + "/f");
            co_await yield();
        }
        const texts all = co_await next_sorted(s, w, wanted.size());
        std::sort(wanted.begin(), wanted.end());
        EXPECT_EQ(all, wanted);
    };
    on.run(f);
}

TEST_P(watching, tells_a_move_out_as_removed_and_a_move_in_as_created) {
    const auto f = [&]() -> task<> {
        const temporary_directory elsewhere;
        const std::string outside = elsewhere.path().string();
        s.make_directory("d");
        s.write("d/f");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        std::filesystem::rename(s.path("d"), outside + "/d");
        auto gone = co_await w.next();
        EXPECT_EQ(s.tell(*gone), "removed d/");
        std::ofstream(outside + "/d/unseen") << "x";
        std::filesystem::rename(outside + "/d", s.path("e"));
        texts all = co_await next_sorted(s, w, 3);
        EXPECT_EQ(all, list("created e/", "created e/f", "created e/unseen"));
        s.write("e/g");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created e/g"));
    };
    on.run(f);
}

TEST_P(watching, tells_what_is_in_a_directory_that_comes_back_by_another_name_at_once) {
    const auto f = [&]() -> task<> {
        const temporary_directory elsewhere;
        const std::string outside = elsewhere.path().string();
        s.make_directory("d");
        s.make_directory("d/sub");
        s.write("d/sub/f");
        watch_options o;
        o.recursive = true;
        o.settle = 100ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        std::filesystem::rename(s.path("d"), outside + "/d");
        std::filesystem::rename(outside + "/d", s.path("e"));
        texts all = co_await next_sorted(s, w, 4);
        EXPECT_EQ(all, list("created e/", "created e/sub/", "created e/sub/f", "removed d/"));
        s.write("e/sub/g");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created e/sub/g"));
    };
    on.run(f);
}

TEST_P(watching, forgets_a_directory_that_left_before_its_parent_got_another_name) {
    const auto f = [&]() -> task<> {
        const temporary_directory elsewhere;
        const std::string outside = elsewhere.path().string();
        std::filesystem::create_directories(s.path("p/c"));
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        std::filesystem::rename(s.path("p/c"), outside + "/c");
        s.rename("p", "q");
        texts all = co_await next(s, w, 2);
        EXPECT_EQ(all, list("moved p>q/", "removed q/c/"));
        std::ofstream(outside + "/c/unseen") << "x";
        s.write("q/seen");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created q/seen"));
    };
    on.run(f);
}

TEST_P(watching, forgets_a_directory_that_left_before_another_took_the_name_of_its_parent) {
    const auto f = [&]() -> task<> {
        const temporary_directory elsewhere;
        const std::string outside = elsewhere.path().string();
        std::filesystem::create_directories(s.path("p/c"));
        s.make_directory("q");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        o.kinds &= ~fs::bit_of(change_kind::attributes);
        auto w = co_await fs::watch(s.path(), std::move(o));
        std::filesystem::rename(s.path("p/c"), outside + "/c");
        s.rename("q", "p");
        texts all = co_await next(s, w, 2);
        EXPECT_EQ(all, list("removed p/c/", "moved q>p/"));
        std::ofstream(outside + "/c/unseen") << "x";
        s.write("p/seen");
        all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created p/seen"));
    };
    on.run(f);
}

TEST_P(watching, tells_only_what_is_wanted) {
    const auto f = [&]() -> task<> {
        s.make_directory("skipped");
        watch_options o;
        o.recursive = true;
        o.settle = 5ms;
        o.kinds = fs::bit_of(change_kind::created);
        o.filter = [](std::string_view path, bool is_directory) {
            return is_directory ? !path.ends_with("/skipped")
                                : path.ends_with(".txt") || path.find("/end ") != path.npos;
        };
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.write("skipped/a.txt");
        s.write("b.txt");
        s.write("c.bin");
        s.rename("b.txt", "b.bin");
        s.rename("c.bin", "d.txt");
        const texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created b.txt", "created d.txt"));
    };
    on.run(f);
}

TEST_P(watching, follows_a_file_by_its_name) {
    const auto f = [&]() -> task<> {
        watch_options o;
        o.settle = 0ms;
        auto w = co_await fs::watch(s.path("log"), std::move(o));
        s.write("other");
        s.write("log");
        s.rename("log", "log.1");
        s.write("log.1");
        s.write("log");
        s.write("temporary");
        s.rename("temporary", "log");
        s.remove("log");
        const texts all = co_await next(s, w, 7);
        EXPECT_EQ(all, list("created log", "modified log", "removed log", "created log",
                            "modified log", "created log", "removed log"));
    };
    on.run(f);
}

TEST_P(watching, sees_a_rotation_within_one_burst_as_a_new_file) {
    const auto f = [&]() -> task<> {
        s.write("log");
        watch_options o;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.rename("log", "log.1");
        s.write("log");
        const texts all = co_await until_end(s, w);
        EXPECT_EQ(all, list("created log", "moved log>log.1"));
    };
    on.run(f);
}

TEST_P(watching, ends_when_what_is_watched_is_gone) {
    const auto f = [&]() -> task<> {
        s.make_directory("d");
        auto w = co_await fs::watch(s.path("d"));
        s.remove("d");
        const texts all = co_await next(s, w, 3);
        EXPECT_EQ(all, list("removed d/"));
        EXPECT_FALSE(co_await w.next());
        s.make_directory("e");
        auto moved = co_await fs::watch(s.path("e"));
        EXPECT_EQ(::chmod(s.path("e").c_str(), 0700), 0);
        s.write("e/x");
        s.rename("e", "f");
        s.write("f/y");
        s.make_directory("e");
        s.write("e/z");
        const texts away = co_await next(s, moved, 5);
        EXPECT_EQ(away, list("attributes e/", "created e/x", "removed e/"));
    };
    on.run(f);
}

TEST_P(watching, says_that_the_queue_of_the_system_overflowed_and_goes_on) {
    const auto f = [&]() -> task<> {
        std::size_t queued = 16'384;
        std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queued;
        watch_options o;
        o.recursive = true;
        auto w = co_await fs::watch(s.path(), std::move(o));
        s.make_directory("made before");
        const std::string a = s.path("a");
        const std::string b = s.path("b");
        s.write("a");
        // Two of the same in a row are one to the system; a rename is two that differ.
        for (std::size_t i = 0; i < queued / 2 + 8; ++i) {
            std::rename((i % 2 == 0 ? a : b).c_str(), (i % 2 == 0 ? b : a).c_str());
        }
        s.make_directory("made during");
        auto c = co_await w.next();
        EXPECT_EQ(c->kind, change_kind::overflow);
        EXPECT_EQ(c->path, s.path());
        // It has looked for directories that it was not told of.
        s.write("made during/f");
        s.write("made before/f");
        texts all = co_await until_end(s, w);
        EXPECT_TRUE(std::find(all.begin(), all.end(), "created made during/f") != all.end());
        EXPECT_TRUE(std::find(all.begin(), all.end(), "created made before/f") != all.end());
    };
    on.run(f);
}

TEST_P(watching, ends_when_what_is_watched_went_with_what_the_queue_lost) {
    std::size_t queued = 16'384;
    std::ifstream("/proc/sys/fs/inotify/max_queued_events") >> queued;
    const auto f = [&](bool recursive) -> task<> {
        s.make_directory("d");
        watch_options o;
        o.recursive = recursive;
        auto w = co_await fs::watch(s.path("d"), std::move(o));
        const std::string a = s.path("d/a");
        const std::string b = s.path("d/b");
        s.write("d/a");
        for (std::size_t i = 0; i < queued / 2 + 8; ++i) {
            std::rename((i % 2 == 0 ? a : b).c_str(), (i % 2 == 0 ? b : a).c_str());
        }
        s.remove("d");
        const texts all = co_await next(s, w, 3);
        EXPECT_EQ(all, list("overflow d/", "removed d/"));
    };
    on.run([&] { return f(true); });
    on.run([&] { return f(false); });
}

TEST_P(watching, tells_what_is_due_while_directories_keep_appearing) {
    const auto f = [&]() -> task<> {
        constexpr int most = 50;
        int made = 0;
        const auto make_next = [&] {
            const std::string d = "d" + std::to_string(++made);
            s.make_directory(d);
            s.write(d + "/f");
        };
        watch_options o;
        o.recursive = true;
        o.settle = 0ms;
        // A file that exists before its directory is watched reaches the filter when that is read.
        o.filter = [&](std::string_view path, bool) {
            if (path.ends_with("/f") && made != most) make_next();
            return true;
        };
        auto w = co_await fs::watch(s.path(), std::move(o));
        make_next();
        auto c = co_await w.next();
        EXPECT_EQ(s.tell(*c), "created d1/");
        EXPECT_LT(made, most);
    };
    on.run(f);
}

TEST_P(watching, has_limits_with_names) {
    const auto f = [&]() -> task<> {
        for (int i = 0; i != 4; ++i) s.make_directory("d" + std::to_string(i));
        watch_options o;
        o.recursive = true;
        o.max_watches = 4;
        auto r = co_await as_result(fs::watch(s.path(), std::move(o)));
        EXPECT_EQ(r.error(), errc::limit_exceeded);
        EXPECT_TRUE(r.error().subject().starts_with("max_watches: 4 directories"));
        watch_options enough;
        enough.recursive = true;
        enough.max_watches = 5;
        enough.max_pending = 3;
        auto w = co_await fs::watch(s.path(), std::move(enough));
        for (int i = 0; i != 4; ++i) s.write("f" + std::to_string(i));
        auto c = co_await w.next();
        EXPECT_EQ(c->kind, change_kind::overflow);
        s.make_directory("one too many");
        error why;
        while (!why.code()) {
            auto more = co_await as_result(w.next());
            if (!more) why = more.error();
        }
        EXPECT_EQ(why, errc::limit_exceeded);
        EXPECT_FALSE(co_await w.next());
    };
    on.run(f);
}

TEST_P(watching, counts_what_may_yet_arrive_among_what_waits) {
    const auto f = [&]() -> task<> {
        const temporary_directory elsewhere;
        const std::string outside = elsewhere.path().string();
        for (int i = 0; i != 5; ++i) s.make_directory("d" + std::to_string(i));
        watch_options o;
        o.recursive = true;
        o.settle = 1h;
        o.max_pending = 3;
        auto w = co_await fs::watch(s.path(), std::move(o));
        for (int i = 0; i != 5; ++i) {
            const std::string d = "d" + std::to_string(i);
            std::filesystem::rename(s.path(d), outside + "/" + d);
        }
        auto asks = [&]() -> task<> {
            auto c = co_await w.next();
            EXPECT_EQ(s.tell(*c), "overflow ./");
        };
        auto told = co_await as_result(with_timeout(10s, asks));
        EXPECT_TRUE(told) << told.error();
    };
    on.run(f);
}

TEST_P(watching, says_what_cannot_be_watched) {
    const auto f = [&]() -> task<> {
        auto r = co_await as_result(fs::watch(s.path("no/such")));
        EXPECT_EQ(r.error(), std::errc::no_such_file_or_directory);
        EXPECT_EQ(r.error().operation(), "watch");
        EXPECT_TRUE(r.error().subject().starts_with(s.path()));
        auto cut = co_await as_result(fs::watch(s.path() + std::string("\0x", 2)));
        EXPECT_EQ(cut.error(), std::errc::invalid_argument);
    };
    on.run(f);
}

TEST(watching_in_a_simulation, is_refused) {
    simulation world;
    world.run([]() -> task<> {
        auto r = co_await as_result(fs::watch("/tmp"));
        EXPECT_EQ(r.error(), std::errc::function_not_supported);
        EXPECT_EQ(r.error().subject(), "/tmp");
    });
}

TEST_P(watching, says_what_to_do_when_the_system_has_no_more_to_give) {
    const auto f = [&]() -> task<> {
        // The pool and its like are opened by the first.
        {
            auto w = co_await fs::watch(s.path());
        }
        rlimit limit{};
        ::getrlimit(RLIMIT_NOFILE, &limit);
        const rlimit was = limit;
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(lowest);
        limit.rlim_cur = static_cast<rlim_t>(lowest);
        ::setrlimit(RLIMIT_NOFILE, &limit);
        auto r = co_await as_result(fs::watch(s.path()));
        ::setrlimit(RLIMIT_NOFILE, &was);
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_EQ(r.error(), std::errc::too_many_files_open);
        EXPECT_EQ(r.error().subject(), s.path());
        EXPECT_TRUE(r.error().message().contains("fs.inotify.max_user_instances"));
        // That of files and disks leads nowhere here.
        EXPECT_FALSE(r.error().message().contains("close some"));
    };
    on.run(f);
}

TEST_P(watching, fails_rather_than_to_leave_out_a_directory_that_it_cannot_read) {
    const auto f = [&]() -> task<> {
        // The pool and its like are opened by the first.
        {
            auto w = co_await fs::watch(s.path());
        }
        s.make_directory("d");
        rlimit was{};
        ::getrlimit(RLIMIT_NOFILE, &was);
        const int lowest = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        ::close(lowest);
        watch_options o;
        o.recursive = true;
        // It is asked while the directory above is read. The lowest is that of inotify then.
        o.filter = [&was, lowest](std::string_view, bool) {
            rlimit few = was;
            few.rlim_cur = static_cast<rlim_t>(lowest) + 1;
            return ::setrlimit(RLIMIT_NOFILE, &few) == 0;
        };
        auto r = co_await as_result(fs::watch(s.path(), std::move(o)));
        ::setrlimit(RLIMIT_NOFILE, &was);
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_EQ(r.error(), std::errc::too_many_files_open);
        EXPECT_EQ(r.error().operation(), "watch");
    };
    on.run(f);
}

TEST_P(watching, leaves_nothing_open_wherever_it_is_cancelled) {
    const auto f = [&]() -> task<> {
        // The pool and its like are opened by the first.
        {
            auto w = co_await fs::watch(s.path());
        }
        const std::size_t before = open_descriptors();
        for (int i = 0; i != 60; ++i) {
            auto watch = [&]() -> task<> {
                watch_options o;
                o.recursive = true;
                o.settle = 100us;
                auto w = co_await fs::watch(s.path(), std::move(o));
                while (auto c = co_await w.next()) {
                }
            };
            const std::string name = "d" + std::to_string(i);
            auto change = [&]() -> task<> {
                co_await turns(i % 7);
                s.make_directory(name);
                s.write(name + "/f");
            };
            auto limited = [&]() -> task<> {
                auto r = co_await as_result(with_timeout(i * 20us, watch));
                EXPECT_EQ(r.error(), std::errc::timed_out);
            };
            co_await when_all(limited(), change());
            EXPECT_EQ(open_descriptors(), before);
        }
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, watching, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });
