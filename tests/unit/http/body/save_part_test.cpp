#include "fs/file_writer.hpp"
#include "http/exchange/failure.hpp"
#include "support/received.hpp"
#include "support/temporary_directory.hpp"
#include "support/virtual_time.hpp"

#include <coracle/http/multipart.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <set>

using namespace coracle;
using namespace coracle::testing;
using fs::file_writer;
using fs::if_exists;
using http::file_naming;
using http::multipart_reader;

namespace {

constexpr const char* form_data = "multipart/form-data; boundary=b";

std::string file(const std::string& name, const std::string& data) {
    return "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"" + name + "\"\r\n\r\n" +
           data + "\r\n";
}

std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::set<std::string> names_in(const temporary_directory& directory) {
    std::set<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(directory.path())) {
        names.insert(e.path().filename());
    }
    return names;
}

std::string bytes(std::size_t n) {
    std::string all;
    for (std::size_t i = 0; i != n; ++i) all += static_cast<char>(i * 31 >> 3);
    return all;
}

/// Saves the first part of `body`, and gives what came of it.
task<std::expected<http::saved_file, error>> save(std::string body, std::string path,
                                                  http::multipart_limits limits = {}) {
    received_request req(form_data, std::move(body));
    multipart_reader parts(*req, limits);
    auto* p = co_await parts.next();
    co_return co_await as_result(p->save(path));
}

task<http::saved_file> save_in(std::string name, std::string directory, file_naming naming) {
    received_request req(form_data, file(name, "x") + "--b--");
    multipart_reader parts(*req);
    auto* p = co_await parts.next();
    co_return co_await p->save_in(directory, naming);
}

/// While it lives, files may have `n` bytes.
class file_size_limit {
public:
    explicit file_size_limit(rlim_t n) {
        std::signal(SIGXFSZ, SIG_IGN);
        ::getrlimit(RLIMIT_FSIZE, &before_);
        const rlimit now{n, before_.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &now);
    }
    file_size_limit(const file_size_limit&) = delete;
    ~file_size_limit() {
        ::setrlimit(RLIMIT_FSIZE, &before_);
        std::signal(SIGXFSZ, SIG_DFL);
    }

private:
    rlimit before_{};
};

}  // namespace

TEST(save_part, writes_files_of_every_size_around_its_buffer) {
    const temporary_directory directory;
    const std::string path = directory.path() / "a";
    for (const std::size_t n :
         {std::size_t{0}, std::size_t{1}, std::size_t{256 * 1024 - 1}, std::size_t{256 * 1024},
          std::size_t{256 * 1024 + 1}, std::size_t{1'000'000}}) {
        run_virtually([&]() -> task<> {
            const auto saved = co_await save(file("x", bytes(n)) + "--b--", path);
            EXPECT_TRUE(saved.has_value());
            EXPECT_EQ(saved->path, path);
            EXPECT_EQ(saved->size, n);
        });
        EXPECT_EQ(read_file(path), bytes(n));
        EXPECT_EQ(names_in(directory), std::set<std::string>{"a"});
    }
}

TEST(save_part, gives_the_permissions_that_the_umask_leaves) {
    const temporary_directory directory;
    const std::string path = directory.path() / "a";
    const mode_t before = ::umask(027);
    run_virtually([&]() -> task<> { co_await save(file("x", "1") + "--b--", path); });
    ::umask(before);
    struct stat s{};
    ASSERT_EQ(::stat(path.c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 0777, 0640u);
}

TEST(save_part, leaves_nothing_of_a_body_that_breaks_off) {
    const temporary_directory directory;
    const std::string path = directory.write("a", "before");
    run_virtually([&]() -> task<> {
        for (const std::size_t n : {std::size_t{10}, std::size_t{600'000}}) {
            const auto cut = co_await save(file("x", bytes(n)), path);
            EXPECT_EQ(cut.error().code(), make_error_code(http::status::bad_request));
            const auto beyond = co_await save(file("x", bytes(n)) + "--b--", path, {.part = n - 1});
            EXPECT_EQ(beyond.error().code(), make_error_code(http::status::content_too_large));
        }
    });
    EXPECT_EQ(read_file(path), "before");
    EXPECT_EQ(names_in(directory), std::set<std::string>{"a"});
}

TEST(save_part, leaves_nothing_when_it_is_cancelled) {
    const temporary_directory directory;
    run_virtually([&]() -> task<> {
        received_request req(form_data, file("x", bytes(600'000)));
        req.stalling();
        const auto upload = [&]() -> task<> {
            multipart_reader parts(*req);
            auto* p = co_await parts.next();
            co_await p->save_in(directory.path().native());
        };
        const auto ended = co_await as_result(with_timeout(std::chrono::seconds(1), upload));
        EXPECT_FALSE(ended);
        EXPECT_EQ(req.taken(), file("x", bytes(600'000)).size());
    });
    EXPECT_EQ(names_in(directory), std::set<std::string>());
}

// The thread goes on when the wait for it is cancelled.
TEST(save_in, leaves_no_file_that_it_says_it_has_not_saved) {
    const temporary_directory directory;
    int saved = 0;
    duration usual{};
    for (int i = 0; i != 300; ++i) {
        duration took{};
        std::expected<http::saved_file, error> said =
            std::unexpected(error(std::errc::operation_canceled, "not begun"));
        block_on([&]() -> task<> {
            received_request req(form_data, file("x", bytes(200'000)) + "--b--");
            const auto upload = [&]() -> task<> {
                multipart_reader parts(*req);
                auto* p = co_await parts.next();
                said = co_await as_result(p->save_in(directory.path().native()));
            };
            // From the time that the first one takes on down, for those that become faster.
            const duration time =
                i == 0 ? duration(std::chrono::seconds(10)) : usual * (300 - i) / 300;
            const time_point began = loop::current()->now();
            static_cast<void>(co_await as_result(with_timeout(time, upload)));
            took = loop::current()->now() - began;
        });
        // Where files without a name are not to be had, theirs begins with a point.
        const auto is_named = [](const std::string& name) { return !name.starts_with('.'); };
        EXPECT_EQ(std::ranges::count_if(names_in(directory), is_named), said ? 1 : 0);
        if (i == 0) usual = took;
        if (!said) continue;
        ++saved;
        std::filesystem::remove(said->path);
    }
    EXPECT_GT(saved, 0);
    EXPECT_LT(saved, 300);
}

TEST(save_part, leaves_nothing_when_the_disk_takes_no_more) {
    const temporary_directory directory;
    const std::string path = directory.path() / "a";
    const file_size_limit limit(500'000);
    run_virtually([&]() -> task<> {
        const auto saved = co_await save(file("x", bytes(600'000)) + "--b--", path);
        EXPECT_EQ(saved.error(), std::errc::file_too_large);
        EXPECT_EQ(saved.error().subject(), directory.path().native());
    });
    EXPECT_EQ(names_in(directory), std::set<std::string>());
}

TEST(save_part, tells_why_it_cannot_write) {
    const temporary_directory directory;
    run_virtually([&]() -> task<> {
        const std::string nowhere = directory.path() / "no" / "a";
        const auto saved = co_await save(file("x", "1") + "--b--", nowhere);
        EXPECT_EQ(saved.error(), std::errc::no_such_file_or_directory);
        EXPECT_EQ(saved.error().subject(), (directory.path() / "no").native());
        EXPECT_EQ(saved.error().operation(), "save");
    });
}

TEST(save_part, goes_on_with_the_next_part) {
    const temporary_directory directory;
    run_virtually([&]() -> task<> {
        received_request req(form_data, file("x", bytes(300'000)) + file("y", "2") + "--b--");
        multipart_reader parts(*req);
        int n = 0;
        while (auto* p = co_await parts.next()) {
            const std::string path = directory.path() / std::to_string(++n);
            co_await p->save(path);
        }
        EXPECT_EQ(n, 2);
    });
    EXPECT_EQ(read_file(directory.path() / "1"), bytes(300'000));
    EXPECT_EQ(read_file(directory.path() / "2"), "2");
}

TEST(save_in, names_files_at_random) {
    const temporary_directory directory;
    run_virtually([&]() -> task<> {
        for (int i = 0; i != 3; ++i) {
            const auto saved = co_await save_in("../../x", directory.path(), file_naming::random);
            const std::string name = std::filesystem::path(saved.path).filename();
            EXPECT_EQ(name.size(), 32u);
            EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
        }
    });
    EXPECT_EQ(names_in(directory).size(), 3u);
}

TEST(save_in, makes_the_clients_name_harmless_and_its_own) {
    const temporary_directory directory;
    const temporary_directory outside;
    run_virtually([&]() -> task<> {
        const std::string name = "../" + outside.path().filename().native() + "/a.txt";
        for (int i = 0; i != 3; ++i) co_await save_in(name, directory.path(), file_naming::as_sent);
        co_await save_in(".hidden", directory.path(), file_naming::as_sent);
        const auto saved = co_await save_in("..", directory.path(), file_naming::as_sent);
        EXPECT_EQ(std::filesystem::path(saved.path).filename().native().size(), 32u);
    });
    auto names = names_in(directory);
    EXPECT_EQ(names.size(), 5u);
    for (const char* name : {"a.txt", "a-1.txt", "a-2.txt", "hidden"}) {
        EXPECT_EQ(names.count(name), 1u) << name;
    }
    EXPECT_EQ(names_in(outside).size(), 0u);
}

TEST(save_in, writes_to_the_disk_of_a_simulation) {
    const temporary_directory real;
    const std::string directory = real.path();
    for (const std::uint64_t seed : seeds(8)) {
        simulation world(seed);
        world.disk().make_directory(directory);
        world.run([&]() -> task<> {
            for (int i = 0; i != 3; ++i) co_await save_in("a.txt", directory, file_naming::as_sent);
            co_await save_in("b.txt", directory, file_naming::random);
            auto cut = save(file("f", bytes(100'000)).substr(0, 90'000), directory + "/cut");
            const auto none = co_await std::move(cut);
            EXPECT_FALSE(none);
            auto whole = save(file("f", bytes(100'000)) + "--b--", directory + "/whole");
            const auto saved = co_await std::move(whole);
            EXPECT_TRUE(saved && saved->size == 100'000 && saved->path == directory + "/whole");
        });
        const auto names = world.disk().list(directory);
        EXPECT_EQ(names.size(), 5U);
        for (const char* name : {"a.txt", "a-1.txt", "a-2.txt", "whole"}) {
            EXPECT_EQ(std::count(names.begin(), names.end(), name), 1) << name;
        }
        EXPECT_EQ(world.disk().read(directory + "/whole"), bytes(100'000));
        EXPECT_EQ(world.disk().status(directory + "/whole")->mode, 0644U);
        EXPECT_EQ(world.backend().open_descriptors(), 0U);
    }
    EXPECT_TRUE(names_in(real).empty());
}

TEST(save_in, fails_alike_on_a_full_disk_of_a_simulation) {
    const temporary_directory real;
    const std::string directory = real.path();
    simulation world(1);
    world.disk().make_directory(directory);
    world.disk().limit(50'000);
    world.run([&]() -> task<> {
        auto saving = save(file("f", bytes(100'000)) + "--b--", directory + "/whole");
        const auto saved = co_await std::move(saving);
        EXPECT_EQ(saved.error().operation(), "save");
        EXPECT_EQ(http::detail::status_of(saved.error()), http::status::insufficient_storage);
        auto missing = save(file("f", "1") + "--b--", directory + "/none/f");
        const auto nowhere = co_await std::move(missing);
        EXPECT_EQ(nowhere.error().operation(), "save");
        EXPECT_EQ(nowhere.error(), std::errc::no_such_file_or_directory);
    });
}

TEST(save_in, finds_room_for_a_number_in_a_name_that_is_all_extension) {
    const temporary_directory directory;
    const std::string name = "a." + std::string(253, 'x');
    run_virtually([&]() -> task<> {
        for (int i = 0; i != 2; ++i) co_await save_in(name, directory.path(), file_naming::as_sent);
        // One byte more than an extension that is kept; the dot counts.
        const std::string other = "b." + std::string(32, 'x');
        for (int i = 0; i != 2; ++i) {
            co_await save_in(other, directory.path(), file_naming::as_sent);
        }
        const std::string kept = "c." + std::string(31, 'x');
        for (int i = 0; i != 2; ++i) co_await save_in(kept, directory.path(), file_naming::as_sent);
    });
    const std::string x(31, 'x');
    EXPECT_EQ(names_in(directory),
              (std::set<std::string>{name, name.substr(0, 253) + "-1", "b.x" + x, "b.x" + x + "-1",
                                     "c." + x, "c-1." + x}));
}

TEST(save_in, takes_a_random_number_when_a_hundred_names_are_taken) {
    const temporary_directory directory;
    directory.write("a.b", "0");
    for (int i = 1; i != 99; ++i) directory.write("a-" + std::to_string(i) + ".b", "0");
    run_virtually([&]() -> task<> {
        const auto last = co_await save_in("a.b", directory.path(), file_naming::as_sent);
        EXPECT_EQ(last.path, (directory.path() / "a-99.b").native());
        const auto random = co_await save_in("a.b", directory.path(), file_naming::as_sent);
        EXPECT_TRUE(random.path.starts_with((directory.path() / "a-").native()));
        EXPECT_TRUE(random.path.ends_with(".b"));
        EXPECT_NE(random.path, (directory.path() / "a-100.b").native());
    });
    EXPECT_EQ(names_in(directory).size(), 101u);
    EXPECT_EQ(read_file(directory.path() / "a-98.b"), "0");
}

TEST(file_writer, replaces_and_refuses_to) {
    const temporary_directory directory;
    directory.write("a", "before");
    auto w = file_writer::create(directory.path(), 1);
    ASSERT_TRUE(w);
    ASSERT_TRUE(w->write("after"));
    EXPECT_EQ(names_in(directory), std::set<std::string>{"a"});
    EXPECT_EQ(w->commit("a", if_exists::fail).error(), std::errc::file_exists);
    EXPECT_EQ(read_file(directory.path() / "a"), "before");
    EXPECT_TRUE(w->commit("a", if_exists::replace));
    EXPECT_EQ(read_file(directory.path() / "a"), "after");
    EXPECT_EQ(names_in(directory), std::set<std::string>{"a"});
}

TEST(file_writer, follows_no_name_out_of_its_directory) {
    const temporary_directory directory;
    auto w = file_writer::create(directory.path(), 1);
    ASSERT_TRUE(w);
    EXPECT_FALSE(w->commit("", if_exists::fail));
    EXPECT_FALSE(w->commit(".", if_exists::replace));
    EXPECT_FALSE(w->commit("no/a", if_exists::fail));
    w->discard();
    EXPECT_EQ(names_in(directory), std::set<std::string>());
}
