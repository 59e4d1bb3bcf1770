#include "support/file_worlds.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

using namespace coracle;
using namespace coracle::testing;
namespace std_fs = std::filesystem;

namespace {

class whole_files : public file_world_test {};
class copies : public file_world_test {};
class temporaries : public file_world_test {};
INSTANTIATE_TEST_SUITE_P(everywhere, whole_files, ::testing::ValuesIn(file_worlds()),
                         name_of_world);
INSTANTIATE_TEST_SUITE_P(everywhere, copies, ::testing::ValuesIn(file_worlds()), name_of_world);
INSTANTIATE_TEST_SUITE_P(everywhere, temporaries, ::testing::ValuesIn(file_worlds()),
                         name_of_world);

/// While it lives, a file that this process writes may have so many bytes.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit small{bytes, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &small);
    }
    file_size_limit(const file_size_limit&) = delete;
    file_size_limit& operator=(const file_size_limit&) = delete;
    ~file_size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, handler_);
    }

private:
    void (*handler_)(int);
    rlimit before_{};
};

}  // namespace

TEST_P(whole_files, are_read_whole_and_up_to_a_limit) {
    run([&]() -> task<> {
        for (const std::size_t size : std::vector<std::size_t>{0, 1, 16'383, 16'384, 16'385, 40'000,
                                                               2 * fs::most_bytes_a_call + 5}) {
            directory_.write("f", pattern(size));
            const std::string text = co_await fs::read_text(path("f"), size);
            EXPECT_TRUE(text == pattern(size)) << size;
            if (size == 0) continue;
            auto r = co_await as_result(fs::read_text(path("f"), size - 1));
            EXPECT_TRUE(!r && r.error() == errc::limit_exceeded) << size;
        }
        directory_.write("f", "12345");
        auto r = co_await as_result(fs::read_text(path("f"), 4));
        EXPECT_TRUE(!r && r.error().subject() == path("f").append(", limit 4 bytes"));
        auto none = co_await as_result(fs::read_text(path("none")));
        EXPECT_TRUE(!none && none.error() == std::errc::no_such_file_or_directory);
        auto folder = co_await as_result(fs::read_text(root()));
        EXPECT_TRUE(!folder && folder.error() == std::errc::is_a_directory);
        EXPECT_TRUE(!folder && folder.error().subject() == root());
    });
}

TEST_P(whole_files, of_proc_are_read_to_the_end) {
    run([&]() -> task<> {
        const std::string text = co_await fs::read_text("/proc/self/status");
        EXPECT_NE(text.find("Threads:"), std::string::npos);
        EXPECT_TRUE(text.ends_with('\n'));
        const std::string maps = co_await fs::read_text("/proc/self/smaps");
        EXPECT_GT(maps.size(), 16'384u);
        EXPECT_TRUE(maps.ends_with('\n'));
    });
}

TEST_P(whole_files, may_grow_and_shrink_while_they_are_read) {
    const std::string text = pattern(3 * fs::most_bytes_a_call);
    for (int i = 0; i != 6; ++i) {
        directory_.write("f", text);
        std::atomic<std::size_t> size = text.size();
        // On a thread of its own: a file that is being read may keep whoever cuts it waiting.
        std::jthread changes([&](const std::stop_token& over) {
            while (!over.stop_requested()) {
                size = i % 2 == 0 ? size + 4096 : size - size / 3;
                std_fs::resize_file(path("f"), size);
                std::this_thread::yield();
            }
        });
        std::optional<std::expected<std::string, error>> r;
        run([&]() -> task<> {
            auto reading = fs::read_text(path("f"), 16 * text.size());
            r = co_await as_result(reading);
        });
        changes.request_stop();
        changes.join();
        // One that grows faster than it is read ends at the limit.
        EXPECT_TRUE(*r || r->error() == errc::limit_exceeded) << r->error();
        if (!*r) continue;
        const std::string& read = r->value();
        // Behind the end of one that is being cut the system may show zeros.
        const std::size_t same = std::min({read.size(), text.size(), size.load()});
        EXPECT_TRUE(read.substr(0, same) == text.substr(0, same));
    }
}

TEST_P(whole_files, are_written_and_appended_to) {
    run([&]() -> task<> {
        co_await fs::write_text(path("f"), "one two");
        co_await fs::write_text(path("f"), "one");
        co_await fs::append_text(path("f"), " two");
        co_await fs::append_text(path("g"), "new", 0600);
        EXPECT_EQ((co_await fs::status(path("g"))).mode, 0600u);
        auto r = co_await as_result(fs::write_text("/dev/full", "x"));
        EXPECT_TRUE(!r && r.error() == std::errc::no_space_on_device);
    });
    EXPECT_EQ(content_of(path("f")), "one two");
}

TEST_P(whole_files, are_replaced_at_once_with_the_mode_that_they_had) {
    directory_.write("folder/f", "old");
    std_fs::permissions(path("folder/f"), std_fs::perms(0640));
    std_fs::create_symlink("folder/f", path("link"));
    std_fs::create_symlink("folder/none", path("dangling"));
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    run([&]() -> task<> {
        fs::file old = co_await fs::open(path("folder/f"));
        co_await fs::replace_text(path("folder/f"), "new");
        EXPECT_EQ((co_await fs::status(path("folder/f"))).mode, 0640u);
        std::string seen(3, '\0');
        co_await old.read_exactly_at(0, seen);
        EXPECT_EQ(seen, "old");
        co_await fs::replace_text(path("link"), "by link");
        EXPECT_EQ(content_of(path("folder/f")), "by link");
        EXPECT_TRUE(std_fs::is_symlink(path("link")));
        fs::replace_options quick;
        quick.durable = false;
        quick.mode = 0600;
        co_await fs::replace_text(path("dangling"), "made", quick);
        EXPECT_EQ(content_of(path("folder/none")), "made");
        EXPECT_EQ((co_await fs::status(path("dangling"))).mode, 0600u);
        auto folder = co_await as_result(fs::replace_text(path("folder"), "x"));
        EXPECT_TRUE(!folder && folder.error() == std::errc::is_a_directory);
        auto fifo = co_await as_result(fs::replace_text(path("fifo"), "x"));
        EXPECT_TRUE(!fifo && fifo.error() == std::errc::invalid_argument);
        std::string longest(255, 'n');
        co_await fs::replace_text(path(longest), "x");
        EXPECT_EQ(content_of(path(longest)), "x");
    });
    EXPECT_EQ(names_in("folder"), 2u);
    EXPECT_EQ(names_in("."), 5u);
}

TEST_P(whole_files, that_cannot_be_replaced_are_as_before_and_nothing_is_left_behind) {
    directory_.write("folder/f", "old");
    run([&]() -> task<> {
        std::optional<file_size_limit> small;
        small.emplace(100'000);
        auto r = co_await as_result(fs::replace_text(path("folder/f"), pattern(200'000)));
        small.reset();
        EXPECT_TRUE(!r && r.error() == std::errc::file_too_large);
        auto none = co_await as_result(fs::replace_text(path("none/f"), "x"));
        EXPECT_TRUE(!none && none.error() == std::errc::no_such_file_or_directory);
    });
    EXPECT_EQ(content_of(path("folder/f")), "old");
    EXPECT_EQ(names_in("folder"), 1u);
}

TEST_P(whole_files, keep_set_id_bits_only_for_the_same_owner) {
    directory_.write("f", "old");
    ASSERT_EQ(::chmod(path("f").c_str(), 06755), 0);
    run([&]() -> task<> {
        co_await fs::replace_text(path("f"), "new");
        EXPECT_EQ((co_await fs::status(path("f"))).mode, 06755u);
        // Only the superuser can give a file away.
        if (::chown(path("f").c_str(), 12'345, 12'345) != 0) co_return;
        EXPECT_EQ(::chmod(path("f").c_str(), 06755), 0);
        co_await fs::replace_text(path("f"), "newer");
        EXPECT_EQ((co_await fs::status(path("f"))).mode, 0755u);
    });
}

TEST_P(whole_files, let_no_group_in_that_had_no_access) {
    directory_.write("f", "old");
    ASSERT_EQ(::chmod(path("f").c_str(), 0640), 0);
    // A list with a user of number 1: the bits of the group are its mask.
    const unsigned char list[] = {2,  0, 0, 0,                           // the version
                                  1,  0, 6, 0, 0xff, 0xff, 0xff, 0xff,   // user::rw-
                                  2,  0, 6, 0, 1,    0,    0,    0,      // user:1:rw-
                                  4,  0, 0, 0, 0xff, 0xff, 0xff, 0xff,   // group::---
                                  16, 0, 6, 0, 0xff, 0xff, 0xff, 0xff,   // mask::rw-
                                  32, 0, 4, 0, 0xff, 0xff, 0xff, 0xff};  // other::r--
    const char* name = "system.posix_acl_access";
    const bool has_lists = ::setxattr(path("f").c_str(), name, list, sizeof list, 0) == 0;
    run([&]() -> task<> {
        if (has_lists) {
            EXPECT_EQ((co_await fs::status(path("f"))).mode, 0664u);
            co_await fs::replace_text(path("f"), "new");
            EXPECT_EQ((co_await fs::status(path("f"))).mode, 0644u);
        }
        // Only the superuser has every group.
        if (::chown(path("f").c_str(), static_cast<uid_t>(-1), 12'345) != 0) co_return;
        EXPECT_EQ(::chmod(path("f").c_str(), 0640), 0);
        co_await fs::replace_text(path("f"), "newer");
        const auto s = co_await fs::status(path("f"));
        EXPECT_EQ(s.group, 12'345u);
        EXPECT_EQ(s.mode, 0640u);
    });
}

TEST_P(copies, have_the_content_and_the_permissions) {
    const std::string text = pattern(2 * fs::most_bytes_a_call + 77);
    directory_.write("from", text);
    std_fs::permissions(path("from"), std_fs::perms(0640));
    run([&]() -> task<> {
        std::vector<std::uint64_t> told;
        fs::copy_options o;
        o.keep_times = true;
        o.durable = true;
        o.progress = [&](std::uint64_t done, std::uint64_t all) {
            EXPECT_EQ(all, text.size());
            told.push_back(done);
        };
        EXPECT_EQ(co_await fs::copy_file(path("from"), path("to"), std::move(o)), text.size());
        EXPECT_GE(told.size(), 3u);
        EXPECT_TRUE(!told.empty() && told.back() == text.size());
        const file_status a = co_await fs::status(path("from"));
        const file_status b = co_await fs::status(path("to"));
        EXPECT_EQ(a.modified_ns, b.modified_ns);
        EXPECT_EQ(b.mode, 0640u);
        auto again = co_await as_result(fs::copy_file(path("from"), path("to")));
        EXPECT_TRUE(!again && again.error() == std::errc::file_exists);
        directory_.write("from", "less");
        fs::copy_options over;
        over.overwrite = true;
        EXPECT_EQ(co_await fs::copy_file(path("from"), path("to"), std::move(over)), 4u);
        EXPECT_EQ(content_of(path("to")), "less");
        auto folder = co_await as_result(fs::copy_file(root(), path("x")));
        EXPECT_TRUE(!folder && folder.error() == std::errc::invalid_argument);
    });
    EXPECT_EQ(names_in("."), 2u);
}

TEST_P(copies, leave_nothing_when_their_progress_throws) {
    directory_.write("from", pattern(1000));
    run([&]() -> task<> {
        fs::copy_options o;
        o.progress = [](std::uint64_t, std::uint64_t) { throw std::runtime_error("of the test"); };
        bool thrown = false;
        try {
            co_await fs::copy_file(path("from"), path("to"), std::move(o));
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
    });
    EXPECT_EQ(names_in("."), 1u);
}

TEST_P(copies, of_trees_that_stop_midway_can_be_gone_on_with) {
    directory_.write("from/a/one", pattern(1000));
    directory_.write("from/a/two", pattern(1000));
    run([&]() -> task<> {
        co_await fs::set_mode(path("from/a"), 0755);
        fs::copy_options o;
        o.progress = [calls = 0](std::uint64_t, std::uint64_t) mutable {
            if (++calls == 2) throw std::runtime_error("of the test");
        };
        bool thrown = false;
        try {
            co_await fs::copy_tree(path("from"), path("to"), std::move(o));
        } catch (const std::runtime_error&) {
            thrown = true;
        }
        EXPECT_TRUE(thrown);
        const file_status left = co_await fs::status(path("to/a"));
        EXPECT_EQ(left.mode & 0777U, 0755U);
        fs::copy_options over;
        over.overwrite = true;
        co_await fs::copy_tree(path("from"), path("to"), std::move(over));
        const file_status whole = co_await fs::status(path("to/a"));
        EXPECT_EQ(whole.mode & 0777U, 0755U);
    });
    EXPECT_EQ(names_in("to/a"), 2u);
}

TEST_P(copies, go_through_memory_where_the_kernel_cannot) {
    run([&]() -> task<> {
        // Files of /proc are in another file system, say that they are empty, and are not.
        EXPECT_GT(co_await fs::copy_file("/proc/self/smaps", path("smaps")), 1'000u);
        EXPECT_GT(content_of(path("smaps")).size(), 1'000u);
        EXPECT_EQ(co_await fs::copy_file("/proc/sys/kernel/ostype", path("os")), 6u);
    });
    EXPECT_EQ(content_of(path("os")), "Linux\n");
}

TEST_P(copies, that_fail_leave_nothing_behind) {
    directory_.write("from", pattern(200'000));
    directory_.write("to/there", "old");
    run([&]() -> task<> {
        std::optional<file_size_limit> small;
        small.emplace(100'000);
        fs::copy_options over;
        over.overwrite = true;
        auto r = co_await as_result(fs::copy_file(path("from"), path("to/there"), std::move(over)));
        auto s = co_await as_result(fs::copy_file(path("from"), path("to/new")));
        small.reset();
        EXPECT_TRUE(!r && r.error() == std::errc::file_too_large);
        EXPECT_FALSE(s);
    });
    EXPECT_EQ(names_in("to"), 1u);
    EXPECT_EQ(content_of(path("to/there")), "old");
}

TEST_P(copies, of_trees_have_all_that_is_in_them) {
    directory_.write("from/a/one", "1");
    directory_.write("from/a/b/two", "22");
    std_fs::create_symlink("a/one", path("from/link"));
    ASSERT_EQ(::mkfifo(path("from/fifo").c_str(), 0600), 0);
    std_fs::permissions(path("from/a/b"), std_fs::perms(0500));
    std_fs::permissions(path("from/a"), std_fs::perms(01755));
    run([&]() -> task<> {
        const fs::copied_tree done = co_await fs::copy_tree(path("from/"), path("x/to"));
        EXPECT_EQ(done.directories, 3u);
        EXPECT_EQ(done.files, 2u);
        EXPECT_EQ(done.links, 1u);
        EXPECT_EQ(done.skipped, 1u);
        EXPECT_EQ(done.bytes, 3u);
        EXPECT_EQ(content_of(path("x/to/a/b/two")), "22");
        EXPECT_EQ(std_fs::read_symlink(path("x/to/link")), "a/one");
        EXPECT_EQ((co_await fs::status(path("x/to/a/b"))).mode, 0500u);
        // Without the sticky bit others could remove what is there.
        EXPECT_EQ((co_await fs::status(path("x/to/a"))).mode, 01755u);
        auto again = co_await as_result(fs::copy_tree(path("from"), path("x/to")));
        EXPECT_TRUE(!again && again.error() == std::errc::file_exists);
        directory_.write("from/a/one", "changed");
        fs::copy_options over;
        over.overwrite = true;
        co_await fs::copy_tree(path("from"), path("x/to"), std::move(over));
        EXPECT_EQ(content_of(path("x/to/a/one")), "changed");
        auto inside = co_await as_result(fs::copy_tree(path("from"), path("from/a/new")));
        EXPECT_TRUE(!inside && inside.error() == std::errc::invalid_argument);
        auto file = co_await as_result(fs::copy_tree(path("from/a/one"), path("y")));
        EXPECT_TRUE(!file && file.error() == std::errc::not_a_directory);
    });
    std_fs::permissions(path("from/a/b"), std_fs::perms(0700));
    std_fs::permissions(path("x/to/a/b"), std_fs::perms(0700));
}

TEST_P(copies, of_trees_leave_the_permissions_of_directories_that_were_there) {
    directory_.write("from/a/one", "1");
    std_fs::create_directories(path("to/a"));
    ASSERT_EQ(::chmod(path("to").c_str(), 03750), 0);
    ASSERT_EQ(::chmod(path("to/a").c_str(), 0700), 0);
    run([&]() -> task<> {
        co_await fs::copy_tree(path("from"), path("to"));
        EXPECT_EQ((co_await fs::status(path("to"))).mode, 03750u);
        EXPECT_EQ((co_await fs::status(path("to/a"))).mode, 0700u);
    });
}

TEST_P(copies, of_trees_follow_no_link_in_their_target) {
    directory_.write("from/d/x", "new");
    directory_.write("from/f", "new");
    directory_.write("outside/f", "old");
    for (const bool overwrite : {false, true}) {
        std_fs::remove_all(path("to"));
        std_fs::create_directories(path("to"));
        std_fs::create_symlink("../outside", path("to/d"));
        std_fs::create_symlink("../outside/f", path("to/f"));
        run([&]() -> task<> {
            fs::copy_options o;
            o.overwrite = overwrite;
            const auto done =
                co_await as_result(fs::copy_tree(path("from"), path("to"), std::move(o)));
            EXPECT_EQ(done.has_value(), overwrite);
            EXPECT_TRUE(done || done.error() == std::errc::file_exists);
        });
        EXPECT_EQ(names_in("outside"), 1U);
        EXPECT_EQ(content_of(path("outside/f")), "old");
    }
    EXPECT_EQ(content_of(path("to/d/x")), "new");
    EXPECT_EQ(content_of(path("to/f")), "new");
}

TEST_P(copies, replace_no_fifo) {
    directory_.write("from", "new");
    ASSERT_EQ(::mkfifo(path("to").c_str(), 0600), 0);
    run([&]() -> task<> {
        fs::copy_options o;
        o.overwrite = true;
        const auto done = co_await as_result(fs::copy_file(path("from"), path("to"), std::move(o)));
        EXPECT_TRUE(!done && done.error() == std::errc::operation_not_supported);
    });
    EXPECT_TRUE(std_fs::is_fifo(path("to")));
}

TEST_P(copies, of_trees_keep_all_times_when_asked) {
    directory_.write("from/a/one", "1");
    std_fs::create_symlink("one", path("from/a/link"));
    run([&]() -> task<> {
        co_await fs::set_times(path("from/a"), 3, 4);
        co_await fs::set_times(path("from"), 1, 2);
        fs::copy_options o;
        o.keep_times = true;
        o.durable = true;
        co_await fs::copy_tree(path("from"), path("to"), std::move(o));
        EXPECT_EQ((co_await fs::status(path("to"))).modified_ns, 2);
        EXPECT_EQ((co_await fs::status(path("to/a"))).modified_ns, 4);
        const file_status from = co_await fs::link_status(path("from/a/link"));
        const file_status to = co_await fs::link_status(path("to/a/link"));
        EXPECT_EQ(from.modified_ns, to.modified_ns);
    });
}

TEST_P(temporaries, are_gone_with_what_owns_them) {
    run([&]() -> task<> {
        {
            fs::temporary_file f = co_await fs::make_temporary_file(root());
            co_await f.content().write_at(0, "draft");
            EXPECT_EQ((co_await f.content().status()).mode, 0600u);
        }
        {
            fs::temporary_directory d = co_await fs::make_temporary_directory(root(), "work-");
            EXPECT_TRUE(d.path().starts_with(path("work-")));
            co_await fs::write_text(d / "x", "x");
            co_await d.remove();
            EXPECT_FALSE(std_fs::exists(path("work-")));
            co_await d.remove();
        }
        {
            fs::temporary_directory d = co_await fs::make_temporary_directory(root());
            co_await fs::write_text(d / "x", "x");
            fs::temporary_directory e = co_await fs::make_temporary_directory(root());
            d = std::move(e);
        }
    });
    EXPECT_EQ(names_in("."), 0u);
}

TEST_P(temporaries, may_get_a_name_and_be_kept) {
    std::string kept;
    run([&]() -> task<> {
        fs::temporary_file f = co_await fs::make_temporary_file(root());
        co_await f.content().write_at(0, "done");
        directory_.write("taken", "");
        auto taken = co_await as_result(f.link_as(path("taken")));
        EXPECT_TRUE(!taken && taken.error() == std::errc::file_exists);
        co_await f.link_as(path("named"), 0640);
        EXPECT_EQ((co_await fs::status(path("named"))).mode, 0640u);
        fs::temporary_directory d = co_await fs::make_temporary_directory(root());
        kept = d.keep();
    });
    EXPECT_EQ(content_of(path("named")), "done");
    EXPECT_TRUE(std_fs::is_directory(kept));
    EXPECT_EQ(names_in("."), 3u);
}

TEST(temporary_directory, is_removed_by_a_thread_without_a_loop) {
    const coracle::testing::temporary_directory around;
    std::optional<fs::temporary_directory> d;
    const auto main = [&]() -> task<> {
        d = co_await fs::make_temporary_directory(around.path().string());
        co_await fs::write_text(*d / "x", "x");
    };
    block_on(main);
    EXPECT_FALSE(std_fs::is_empty(around.path()));
    d.reset();
    EXPECT_TRUE(std_fs::is_empty(around.path()));
}
