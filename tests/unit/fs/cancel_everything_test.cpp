#include "support/cancel_everywhere.hpp"
#include "support/file_worlds.hpp"

#include <coracle/fs/copy.hpp>
#include <coracle/fs/file.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/fs/temporary.hpp>
#include <coracle/fs/walk.hpp>
#include <coracle/fs/whole_file.hpp>

#include <gtest/gtest.h>

#include <array>

/// Cancels every operation of the file layer at every point where it waits, in a simulated world,
/// and some of them on a real disk too: none leaves a descriptor or a half of something behind.
namespace coracle::testing {
namespace {

/// A directory of its own, and a file "f" in it, which is open.
struct file_row : cancel_row {
    std::string path(const char* name) const { return root + "/" + name; }

    task<> prepare() {
        descriptors = descriptors_now();
        root = around().append("/coracle-row-");
        root.append(std::to_string(loop::current()->random()));
        co_await fs::make_directories(path("d"));
        co_await fs::write_text(path("f"), "old");
        co_await fs::write_text(path("d/g"), "g");
        f = co_await fs::open(path("f"), fs::read_write | fs::open_flags::append);
        d = co_await fs::open(path("d"));
    }
    task<> finish() {
        f = fs::file();
        d = fs::file();
        co_await check();
        co_await fs::remove_all(root);
        // Those that clean up behind a dropped object are done, too.
        while (loop::current()->detached() != 0) co_await yield();
        EXPECT_EQ(descriptors_now(), descriptors);
    }
    virtual task<> check() { co_return; }
    virtual ~file_row() = default;

    /// Names in a directory.
    task<std::size_t> names_in(std::string folder) {
        std::size_t n = 0;
        auto all = fs::list(folder);
        while (co_await all.next()) ++n;
        co_return n;
    }

    static bool is_simulated() { return loop::current()->backend().name() == "simulated"; }

    /// On a real disk in memory, where there is one: many runs sync.
    static std::string around() {
        if (is_simulated()) return "/tmp";
        static const bool in_memory = std::filesystem::is_directory("/dev/shm");
        return in_memory ? "/dev/shm" : std::filesystem::temp_directory_path().string();
    }

    static std::size_t descriptors_now() {
        if (!is_simulated()) return open_descriptors();
        return static_cast<simulated_backend&>(loop::current()->backend()).open_descriptors();
    }

    std::size_t descriptors = 0;
    std::string root;
    fs::file f;
    fs::file d;
    std::array<char, 8> room{};
};

struct open_row : file_row {
    auto make() { return fs::open(path("f")); }
};
struct open_at_row : file_row {
    auto make() { return fs::open_at(d, "g"); }
};
struct read_at_row : file_row {
    static constexpr bool again = true;
    auto make() { return f.read_at(0, room); }
};
struct readv_at_row : file_row {
    static constexpr bool again = true;
    std::array<std::span<char>, 2> rooms = {std::span(room).first(1), std::span(room).subspan(1)};
    auto make() { return f.readv_at(0, rooms); }
};
struct read_exactly_row : file_row {
    static constexpr bool again = true;
    auto make() { return f.read_exactly_at(0, std::span(room).first(3)); }
};
struct write_at_row : file_row {
    static constexpr bool again = true;
    const std::string text = pattern(fs::most_bytes_a_call + 1);
    auto make() { return f.write_at(0, text); }
};
struct writev_at_row : file_row {
    std::array<slice, 2> pieces = {slice("ab"), slice("c")};
    auto make() { return f.writev_at(0, pieces); }
};
struct append_row : file_row {
    auto make() { return f.append("more"); }
};
struct sync_row : file_row {
    static constexpr bool again = true;
    auto make() { return f.sync(); }
};
struct sync_data_row : file_row {
    auto make() { return f.sync_data(); }
};
struct truncate_row : file_row {
    static constexpr bool again = true;
    auto make() { return f.truncate(10); }
};
struct allocate_row : file_row {
    auto make() { return f.allocate({0, 4096}); }
};
struct file_status_row : file_row {
    static constexpr bool again = true;
    auto make() { return f.status(); }
};
struct file_set_mode_row : file_row {
    auto make() { return f.set_mode(0600); }
};
struct file_set_times_row : file_row {
    auto make() { return f.set_times(1, 2); }
};
struct lock_row : file_row {
    static constexpr bool again = true;
    static constexpr bool waits_for_a_thread = true;  // for a millisecond, many turns
    fs::file other;
    task<> prepare() {
        co_await file_row::prepare();
        other = co_await fs::open(path("f"), fs::read_write);
        co_await other.lock(fs::lock_kind::exclusive);
    }
    auto make() { return f.lock(fs::lock_kind::shared); }
    task<> help() {
        co_await turns(20);
        co_await other.unlock();
    }
    task<> finish() {
        other = fs::file();
        co_await file_row::finish();
    }
};
struct try_lock_row : file_row {
    auto make() { return f.try_lock(fs::lock_kind::exclusive); }
};
struct unlock_row : file_row {
    auto make() { return f.unlock(); }
};
struct close_row : file_row {
    auto make() { return f.close(); }
};

struct make_directory_row : file_row {
    auto make() { return fs::make_directory(path("new")); }
};
struct make_directory_at_row : file_row {
    auto make() { return fs::make_directory_at(d, "new"); }
};
struct make_directories_row : file_row {
    static constexpr bool again = true;
    auto make() { return fs::make_directories(path("a/b/c")); }
};
struct remove_row : file_row {
    auto make() { return fs::remove(path("f")); }
};
struct remove_at_row : file_row {
    auto make() { return fs::remove_at(d, "g"); }
};
struct remove_directory_row : file_row {
    task<> prepare() {
        co_await file_row::prepare();
        co_await fs::remove(path("d/g"));
    }
    auto make() { return fs::remove_directory(path("d")); }
};
struct remove_all_row : file_row {
    static constexpr bool again = true;
    task<> prepare() {
        co_await file_row::prepare();
        co_await fs::make_directories(path("d/e/h"));
    }
    auto make() { return fs::remove_all(path("d")); }
};
struct rename_row : file_row {
    auto make() { return fs::rename(path("f"), path("g")); }
};
struct link_row : file_row {
    auto make() { return fs::link(path("f"), path("g")); }
};
struct symlink_row : file_row {
    auto make() { return fs::symlink("f", path("g")); }
};
struct read_link_row : file_row {
    static constexpr bool again = true;
    task<> prepare() {
        co_await file_row::prepare();
        co_await fs::symlink("f", path("l"));
    }
    auto make() { return fs::read_link(path("l")); }
};
struct status_row : file_row {
    static constexpr bool again = true;
    auto make() { return fs::status(path("f")); }
};
struct link_status_row : file_row {
    auto make() { return fs::link_status(path("f")); }
};
struct link_status_at_row : file_row {
    auto make() { return fs::link_status_at(d, "g"); }
};
struct exists_row : file_row {
    auto make() { return fs::exists(path("none")); }
};
struct set_mode_row : file_row {
    auto make() { return fs::set_mode(path("f"), 0600); }
};
struct set_times_row : file_row {
    auto make() { return fs::set_times(path("f"), 1, 2); }
};
struct sync_directory_row : file_row {
    auto make() { return fs::sync_directory(path("d")); }
};
struct walk_row : file_row {
    task<std::size_t> count() {
        std::size_t n = 0;
        auto all = fs::walk(root);
        while (co_await all.next()) ++n;
        co_return n;
    }
    auto make() { return count(); }
};

struct read_text_row : file_row {
    static constexpr bool again = true;
    auto make() { return fs::read_text(path("f")); }
};
struct write_text_row : file_row {
    static constexpr bool again = true;
    auto make() { return fs::write_text(path("f"), "new"); }
};
struct append_text_row : file_row {
    auto make() { return fs::append_text(path("f"), "new"); }
};
struct replace_text_row : file_row {
    static constexpr bool again = true;
    auto make() { return fs::replace_text(path("f"), "newer"); }
    task<> check() override {
        EXPECT_EQ(co_await names_in(root), 2u);
        const std::string text = co_await fs::read_text(path("f"));
        EXPECT_TRUE(text == "old" || text == "newer") << text;
    }
};
struct copy_file_row : file_row {
    auto make() { return fs::copy_file(path("f"), path("d/copy")); }
    task<> check() override {
        const std::size_t n = co_await names_in(path("d"));
        EXPECT_LE(n, 2u);
        if (n == 1) co_return;
        EXPECT_EQ(co_await fs::read_text(path("d/copy")), "old");
    }
};
struct copy_tree_row : file_row {
    task<> prepare() {
        co_await file_row::prepare();
        co_await fs::set_mode(path("d"), 0751);
    }
    auto make() { return fs::copy_tree(path("d"), path("copy")); }
    /// A directory that was made has its permissions: a later copy leaves them as they are.
    task<> check() override {
        const auto made = co_await as_result(fs::status(path("copy")));
        if (made) {
            EXPECT_EQ(made->mode & 0777U, 0751U);
        }
    }
};
struct copy_over_links_row : file_row {
    task<> prepare() {
        co_await file_row::prepare();
        co_await fs::symlink("g", path("d/link"));
        co_await fs::make_directories(path("d/folder"));
        co_await fs::make_directories(path("copy"));
        co_await fs::symlink("old", path("copy/link"));
        co_await fs::symlink("old", path("copy/folder"));
    }
    auto make() { return fs::copy_tree(path("d"), path("copy"), {.overwrite = true}); }
    /// The old one or the new one, and nothing beside them.
    task<> check() override {
        const std::string target = co_await fs::read_link(path("copy/link"));
        EXPECT_TRUE(target == "old" || target == "g") << target;
        EXPECT_TRUE(co_await as_result(fs::link_status(path("copy/folder"))));
        auto all = fs::list(path("copy"));
        while (const auto e = co_await all.next()) {
            const std::string name = e->path.substr(e->path.rfind('/') + 1);
            EXPECT_TRUE(name == "link" || name == "folder" || name == "g") << name;
        }
    }
};
struct make_temporary_file_row : file_row {
    auto make() { return fs::make_temporary_file(path("d")); }
    task<> check() override { EXPECT_EQ(co_await names_in(path("d")), 1u); }
};
struct link_as_row : file_row {
    fs::temporary_file t;
    task<> prepare() {
        co_await file_row::prepare();
        t = co_await fs::make_temporary_file(path("d"));
    }
    auto make() { return t.link_as(path("d/named")); }
    task<> finish() {
        t = fs::temporary_file();
        co_await file_row::finish();
    }
};
struct make_temporary_directory_row : file_row {
    auto make() { return fs::make_temporary_directory(path("d")); }
    task<> check() override {
        while (loop::current()->detached() != 0) co_await yield();
        EXPECT_EQ(co_await names_in(path("d")), 1u);
    }
};
struct temporary_remove_row : file_row {
    static constexpr bool again = true;
    fs::temporary_directory t;
    task<> prepare() {
        co_await file_row::prepare();
        t = co_await fs::make_temporary_directory(path("d"));
        co_await fs::write_text(t / "x", "x");
    }
    auto make() { return t.remove(); }
    task<> finish() {
        co_await t.remove();
        co_await file_row::finish();
    }
};

std::string name_of_row(const ::testing::TestParamInfo<cancel_case>& row) {
    return test_name(row.param.name);
}

/// Runs a row on the system, with whatever backend this machine has.
template <class Row>
struct by_the_system : Row {
    static constexpr bool real = true;
    static constexpr bool waits_for_a_thread = true;
};

class cancel_everything : public ::testing::TestWithParam<cancel_case> {};

TEST_P(cancel_everything, leaves_nothing_behind) {
    GetParam().run();
}

INSTANTIATE_TEST_SUITE_P(
    fs, cancel_everything,
    ::testing::Values(
        row<open_row>("open()"), row<open_at_row>("open_at()"), row<read_at_row>("file::read_at()"),
        row<readv_at_row>("file::readv_at()"), row<read_exactly_row>("file::read_exactly_at()"),
        row<write_at_row>("file::write_at()"), row<writev_at_row>("file::writev_at()"),
        row<append_row>("file::append()"), row<sync_row>("file::sync()"),
        row<sync_data_row>("file::sync_data()"), row<truncate_row>("file::truncate()"),
        row<allocate_row>("file::allocate()"), row<file_status_row>("file::status()"),
        row<file_set_mode_row>("file::set_mode()"), row<file_set_times_row>("file::set_times()"),
        row<lock_row>("file::lock()"), row<try_lock_row>("file::try_lock()"),
        row<unlock_row>("file::unlock()"), row<close_row>("file::close()")),
    name_of_row);

INSTANTIATE_TEST_SUITE_P(
    fs_names, cancel_everything,
    ::testing::Values(row<make_directory_row>("make_directory()"),
                      row<make_directory_at_row>("make_directory_at()"),
                      row<make_directories_row>("make_directories()"), row<remove_row>("remove()"),
                      row<remove_at_row>("remove_at()"),
                      row<remove_directory_row>("remove_directory()"),
                      row<remove_all_row>("remove_all()"), row<rename_row>("rename()"),
                      row<link_row>("link()"), row<symlink_row>("symlink()"),
                      row<read_link_row>("read_link()"), row<status_row>("status()"),
                      row<link_status_row>("link_status()"),
                      row<link_status_at_row>("link_status_at()"), row<exists_row>("exists()"),
                      row<set_mode_row>("set_mode()"), row<set_times_row>("set_times()"),
                      row<sync_directory_row>("sync_directory()"), row<walk_row>("walk()")),
    name_of_row);

INSTANTIATE_TEST_SUITE_P(
    fs_whole, cancel_everything,
    ::testing::Values(row<read_text_row>("read_text()"), row<write_text_row>("write_text()"),
                      row<append_text_row>("append_text()"),
                      row<replace_text_row>("replace_text()"), row<copy_file_row>("copy_file()"),
                      row<copy_tree_row>("copy_tree()"),
                      row<copy_over_links_row>("copy_tree() over links"),
                      row<make_temporary_file_row>("make_temporary_file()"),
                      row<link_as_row>("temporary_file::link_as()"),
                      row<make_temporary_directory_row>("make_temporary_directory()"),
                      row<temporary_remove_row>("temporary_directory::remove()")),
    name_of_row);

INSTANTIATE_TEST_SUITE_P(
    fs_of_the_system, cancel_everything,
    ::testing::Values(row<by_the_system<open_row>>("open by the system"),
                      row<by_the_system<write_at_row>>("write_at by the system"),
                      row<by_the_system<sync_row>>("sync by the system"),
                      row<by_the_system<replace_text_row>>("replace_text by the system"),
                      row<by_the_system<link_as_row>>("link_as by the system")),
    name_of_row);

}  // namespace
}  // namespace coracle::testing
