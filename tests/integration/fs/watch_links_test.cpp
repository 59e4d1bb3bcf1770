// Watching what symbolic links lead to, on each backend of this machine.

#include "support/failing_calls.hpp"
#include "support/watch_scene.hpp"

#include <coracle/runtime/event.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/task_group.hpp>

namespace coracle::testing {
namespace {

using std::chrono_literals::operator""ms;

/// The lines that are reported at once, each by itself.
class watched_links : public watching {
protected:
    void link(const std::string& target, std::string_view name) const {
        EXPECT_EQ(::symlink(target.c_str(), s.path(name).c_str()), 0) << name;
    }
    /// Replaces a link as `ln -sfn` and Kubernetes do.
    void swap(const std::string& target, const std::string& name) const {
        link(target, name + "_new");
        s.rename(name + "_new", name);
    }
    operation<changes> watch(std::string_view name, bool recursive = false) const {
        watch_options o;
        o.settle = 0ms;
        o.recursive = recursive;
        return fs::watch(s.path(name), std::move(o));
    }
};

}  // namespace

TEST_P(watched_links, of_a_file_report_what_happens_to_it) {
    const auto f = [&]() -> task<> {
        for (const char* name : {"a", "b", "c"}) s.write(name);
        link("a", "log");
        auto w = co_await watch("log");
        s.write("a");
        const texts written = co_await next(s, w, 1);
        EXPECT_EQ(written, list("modified log"));
        s.rename("b", "a");
        const texts replaced = co_await next(s, w, 1);
        EXPECT_EQ(replaced, list("created log"));
        s.remove("a");
        const texts gone = co_await next(s, w, 1);
        EXPECT_EQ(gone, list("removed log"));
        s.write("a");
        const texts back = co_await next(s, w, 1);
        EXPECT_EQ(back, list("created log"));
        swap("c", "log");
        const texts elsewhere = co_await next(s, w, 1);
        EXPECT_EQ(elsewhere, list("created log"));
        s.write("a");
        s.write("c");
        s.remove("log");
        const texts last = co_await next(s, w, 2);
        EXPECT_EQ(last, list("modified log", "removed log"));
    };
    on.run(f);
}

TEST_P(watched_links, of_a_directory_on_the_way_are_found_anew) {
    const auto f = [&]() -> task<> {
        // The layout of a volume of Kubernetes.
        for (const std::string version : {"..1", "..2"}) {
            s.make_directory(version);
            s.write(version + "/app.conf");
        }
        link("..1", "..data");
        link("..data/app.conf", "app.conf");
        auto w = co_await watch("app.conf");
        s.write("..1/app.conf");
        const texts written = co_await next(s, w, 1);
        EXPECT_EQ(written, list("modified app.conf"));
        swap("..2", "..data");
        const texts swapped = co_await next(s, w, 1);
        EXPECT_EQ(swapped, list("created app.conf"));
        s.write("..1/app.conf");
        s.remove("..1");
        s.write("..2/app.conf");
        s.remove("..data");
        const texts then = co_await next(s, w, 2);
        EXPECT_EQ(then, list("modified app.conf", "removed app.conf"));
        link("..2", "..data");
        const texts back = co_await next(s, w, 1);
        EXPECT_EQ(back, list("created app.conf"));
    };
    on.run(f);
}

TEST_P(watched_links, on_the_way_to_nothing_lead_to_where_it_would_be) {
    const auto f = [&]() -> task<> {
        s.make_directory("a");
        s.make_directory("b");
        link("a", "current");
        auto w = co_await watch("current/conf");
        texts heard;
        event first;
        const auto hear = [&]() -> task<> {
            while (auto c = co_await w.next()) {
                heard.push_back(s.tell(*c));
                first.set();
            }
        };
        const auto change = [&](task_group& g) -> task<> {
            g.spawn(hear);
            swap("b", "current");
            // Time for it to look, so that it can be wrong.
            co_await sleep_for(20ms);
            s.write("a/conf");
            co_await sleep_for(20ms);
            EXPECT_EQ(heard, texts());
            s.remove("a/conf");
            s.write("b/conf");
            co_await first.wait();
            g.cancel();
        };
        co_await with_task_group(change);
        EXPECT_EQ(heard.front(), "created current/conf");
    };
    on.run(f);
}

TEST_P(watched_links, above_a_file_are_found_anew) {
    const auto f = [&]() -> task<> {
        s.make_directory("d");
        s.make_directory("e");
        s.write("e/log");
        link(s.path("d"), "here");
        auto w = co_await watch("here/log");
        s.write("d/log");
        const texts made = co_await next(s, w, 1);
        EXPECT_EQ(made, list("created here/log"));
        swap("./e/../e", "here");
        const texts swapped = co_await next(s, w, 1);
        EXPECT_EQ(swapped, list("created here/log"));
        s.write("d/log");
        s.write("e/log");
        s.remove("e");
        const texts then = co_await next(s, w, 2);
        EXPECT_EQ(then, list("modified here/log", "removed here/log"));
        s.make_directory("e");
        s.write("e/log");
        const texts back = co_await next(s, w, 1);
        EXPECT_EQ(back, list("created here/log"));
    };
    on.run(f);
}

TEST_P(watched_links, to_a_directory_lead_to_all_that_is_in_it) {
    const auto f = [&]() -> task<> {
        for (const std::string version : {"v1", "v2"}) {
            s.make_directory(version);
            s.make_directory(version + "/sub");
        }
        link("v1", "now");
        auto w = co_await watch("now", true);
        s.make_directory("v1/sub/a");
        const texts made = co_await next(s, w, 1);
        EXPECT_EQ(made, list("created now/sub/a/"));
        swap("v2", "now");
        const texts swapped = co_await next(s, w, 1);
        EXPECT_EQ(swapped, list("created now/"));
        s.make_directory("v1/sub/b");
        s.make_directory("v2/sub/b");
        s.remove("now");
        const texts then = co_await next(s, w, 2);
        EXPECT_EQ(then, list("created now/sub/b/", "removed now/"));
        s.make_directory("v2/sub/c");
        link("v1", "now");
        const texts back = co_await next(s, w, 1);
        EXPECT_EQ(back, list("created now/"));
        s.make_directory("v1/sub/d");
        const texts last = co_await next(s, w, 1);
        EXPECT_EQ(last, list("created now/sub/d/"));
        s.remove("v1");
        s.make_directory("v1");
        const texts all = co_await next_sorted(s, w, 5);
        EXPECT_EQ(all, list("created now/", "removed now/sub/", "removed now/sub/a/",
                            "removed now/sub/b/", "removed now/sub/d/"));
    };
    on.run(f);
}

TEST_P(watched_links, may_lead_nowhere_at_first_or_take_the_name_of_a_file) {
    const auto f = [&]() -> task<> {
        link("none/log", "dangling");
        auto w = co_await watch("dangling");
        s.make_directory("none");
        s.write("none/log");
        const texts made = co_await next(s, w, 1);
        EXPECT_EQ(made, list("created dangling"));
        s.write("target");
        s.write("log");
        auto plain = co_await watch("log");
        swap("target", "log");
        const texts taken = co_await next(s, plain, 1);
        EXPECT_EQ(taken, list("created log"));
        s.write("target");
        const texts written = co_await next(s, plain, 1);
        EXPECT_EQ(written, list("modified log"));
        link("circle", "circle");
        auto looped = co_await watch("circle");
        swap("target", "circle");
        const texts freed = co_await next(s, looped, 1);
        EXPECT_EQ(freed, list("created circle"));
    };
    on.run(f);
}

TEST_P(watched_links, are_not_left_out_where_there_are_no_watches_left) {
    if (!failing_calls::available()) GTEST_SKIP() << "calls are not replaced in this build";
    const auto f = [&]() -> task<> {
        s.make_directory("d");
        s.write("d/a");
        s.write("b");
        link("d/a", "log");
        {
            // The second is that of the link.
            const failing_calls full("inotify_add_watch", ENOSPC, 2);
            auto r = co_await as_result(watch("log"));
            EXPECT_EQ(r.error(), std::errc::no_space_on_device);
            EXPECT_TRUE(r.error().message().contains("fs.inotify.max_user_watches"));
        }
        {
            const failing_calls out("inotify_add_watch", ENOMEM, 2);
            auto r = co_await as_result(watch("log"));
            EXPECT_TRUE(!r && r.error() == std::errc::not_enough_memory);
        }
        auto w = co_await watch("log");
        const failing_calls full("inotify_add_watch", ENOSPC, 1, true);
        swap("b", "log");
        auto r = co_await as_result(w.next());
        EXPECT_EQ(r.error(), std::errc::no_space_on_device);
    };
    on.run(f);
}

TEST_P(watched_links, are_followed_to_where_they_lead_last) {
    const auto f = [&]() -> task<> {
        for (const char* name : {"a", "b"}) s.write(name);
        link("a", "log");
        watch_options o;
        o.settle = 5ms;
        auto w = co_await fs::watch(s.path("log"), std::move(o));
        for (int i = 0; i != 50; ++i) {
            swap(i % 2 == 0 ? "b" : "a", "log");
            co_await yield();
        }
        swap("b", "log");
        s.write("b");
        const texts moved = co_await next(s, w, 1);
        EXPECT_EQ(moved, list("created log"));
        s.remove("b");
        for (;;) {
            const texts last = co_await next(s, w, 1);
            if (last == list("removed log")) break;
            EXPECT_EQ(last, list("created log"));
        }
        // It was there before the burst in which it came and went.
        s.write("a");
        swap("a", "log");
        s.remove("log");
        link("a", "log");
        const texts back = co_await next(s, w, 1);
        EXPECT_EQ(back, list("created log"));
    };
    on.run(f);
}

INSTANTIATE_TEST_SUITE_P(each_backend, watched_links, ::testing::ValuesIn(each_backend()),
                         [](const auto& case_of) { return case_of.param.name; });

}  // namespace coracle::testing
