#include "fs/perform.hpp"
#include "support/file_worlds.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/file.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <numeric>
#include <optional>

using namespace coracle;
using namespace std::chrono_literals;
using namespace coracle::testing;

namespace {

class files : public file_world_test {};

INSTANTIATE_TEST_SUITE_P(everywhere, files, ::testing::ValuesIn(file_worlds()), name_of_world);

}  // namespace

TEST_P(files, are_written_and_read_by_position) {
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("a"), fs::rewrite | fs::read_write);
        EXPECT_TRUE(f.is_open());
        EXPECT_EQ(f.path(), path("a"));
        co_await f.write_at(0, "Hello, World!");
        co_await f.write_at(7, "boats");
        std::string text(64, '\0');
        const std::size_t n = co_await f.read_at(0, text);
        EXPECT_EQ(text.substr(0, n), "Hello, boats!");
        EXPECT_EQ(co_await f.read_at(13, text), 0u);
        EXPECT_EQ(co_await f.read_at(0, std::span<char>()), 0u);
        co_await f.close();
        EXPECT_FALSE(f.is_open());
    });
    EXPECT_EQ(content_of(path("a")), "Hello, boats!");
}

TEST_P(files, move_more_than_a_call_in_pieces) {
    const std::string text = pattern(3 * fs::most_bytes_a_call + 12'345);
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("big"), fs::rewrite | fs::read_write);
        co_await f.write_at(5, text);
        std::string back(text.size(), '\0');
        co_await f.read_exactly_at(5, back);
        EXPECT_TRUE(back == text);
        const std::size_t n = co_await f.read_at(5, back);
        EXPECT_GT(n, 0u);
        EXPECT_LE(n, fs::most_bytes_a_call);
    });
    EXPECT_TRUE(content_of(path("big")) == std::string(5, '\0').append(text));
}

TEST_P(files, take_pieces_of_any_number_and_size) {
    const std::string text = pattern(100'000);
    std::vector<slice> pieces;
    std::vector<std::string> rooms;
    for (std::size_t at = 0, size = 0; at < text.size(); at += size, size = size * 3 % 997 + 1) {
        size = std::min(size, text.size() - at);
        pieces.emplace_back(text.data() + at, size);
        rooms.emplace_back(size, '\0');
    }
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("v"), fs::rewrite | fs::read_write);
        co_await f.writev_at(0, pieces);
        std::vector<std::span<char>> into(rooms.begin(), rooms.end());
        std::size_t got = co_await f.readv_at(0, into);
        EXPECT_GT(got, 0u);
        EXPECT_EQ(std::accumulate(rooms.begin(), rooms.end(), std::string()).substr(0, got),
                  text.substr(0, got));
    });
    EXPECT_EQ(content_of(path("v")), text);
}

TEST_P(files, say_when_they_end_before_all_was_read) {
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("short"), fs::rewrite | fs::read_write);
        co_await f.write_at(0, "abc");
        std::string text(10, '\0');
        auto r = co_await as_result(f.read_exactly_at(1, text));
        EXPECT_FALSE(r);
        if (r) co_return;
        EXPECT_TRUE(r.error() == errc::unexpected_end);
        EXPECT_EQ(r.error().bytes(), 2u);
        EXPECT_EQ(
            r.error().message(),
            std::string("read ").append(path("short")).append(": it ended too early, bytes 2"));
    });
}

TEST_P(files, append_behind_what_others_wrote) {
    run([&]() -> task<> {
        fs::file one = co_await fs::open(path("log"), fs::append_to);
        fs::file two = co_await fs::open(path("log"), fs::append_to);
        co_await one.append("one ");
        co_await two.append("two ");
        co_await one.append("three");
    });
    EXPECT_EQ(content_of(path("log")), "one two three");
}

TEST_P(files, are_opened_as_the_flags_say) {
    directory_.write("there", "content");
    run([&]() -> task<> {
        auto again = co_await as_result(fs::open(path("there"), fs::write_only | fs::create_new));
        EXPECT_TRUE(!again && again.error() == std::errc::file_exists);
        auto none = co_await as_result(fs::open(path("gone")));
        EXPECT_TRUE(!none && none.error() == std::errc::no_such_file_or_directory);
        EXPECT_TRUE(!none && none.error().subject() == path("gone"));
        auto d =
            co_await as_result(fs::open(path("there"), fs::read_only | fs::open_flags::directory));
        EXPECT_TRUE(!d && d.error() == std::errc::not_a_directory);
        std::filesystem::create_symlink("there", path("link"));
        auto l =
            co_await as_result(fs::open(path("link"), fs::read_only | fs::open_flags::no_follow));
        EXPECT_TRUE(!l && l.error() == std::errc::too_many_symbolic_link_levels);
        auto n = co_await as_result(fs::open(std::string("/etc\0/x", 7)));
        EXPECT_TRUE(!n && n.error() == std::errc::invalid_argument);
        fs::file folder = co_await fs::open(directory_.path().string());
        fs::file inside = co_await fs::open_at(folder, "there");
        EXPECT_EQ((co_await inside.status()).size, 7u);
        fs::file made = co_await fs::open(path("private"), fs::rewrite, 0600);
        EXPECT_EQ((co_await made.status()).mode, 0600u);
    });
}

TEST_P(files, read_past_the_page_cache) {
    const std::string text = pattern(8192);
    directory_.write("f", text);
    // Not in the frame of a coroutine, which has no such alignment.
    alignas(4096) std::array<char, 4096> page;
    run([&]() -> task<> {
        auto opening = fs::open(path("f"), fs::read_only | fs::open_flags::direct);
        auto f = co_await as_result(opening);
        if (!f) co_return;  // not every file system can
        EXPECT_EQ(co_await f->read_at(4096, page), page.size());
        EXPECT_EQ(std::string_view(page.data(), page.size()), text.substr(4096));
        EXPECT_EQ(f->read_at(0, page).flags, static_cast<unsigned>(O_DIRECT));
        const fs::file same = fs::file::adopt(f->release());
        EXPECT_EQ(same.read_at(0, page).flags, static_cast<unsigned>(O_DIRECT));
    });
}

// The kernel does not say that it would wait, but reads the disk.
TEST(file_reads, are_not_tried_from_memory_past_the_page_cache) {
    const temporary_directory directory;
    const std::string path = directory.write("f", "text").string();
    const owned_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    char room[4];
    slice piece(room, sizeof room);
    file_operation op(file_action::read, nullptr);
    op.fd = fd.get();
    op.offset = 0;
    op.pieces = {&piece, 1};
    EXPECT_EQ(fs::detail::perform_from_memory(op), 4);
    op.flags = O_DIRECT;
    EXPECT_EQ(fs::detail::perform_from_memory(op), -EAGAIN);
}

TEST_P(files, never_wait_for_the_other_end_of_a_fifo) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("fifo"));
        EXPECT_EQ((co_await f.status()).kind, file_kind::fifo);
    });
}

TEST_P(files, tell_of_a_fifo_whose_reader_is_gone) {
    ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
    run([&]() -> task<> {
        fs::file reader = co_await fs::open(path("fifo"));
        fs::file f = co_await fs::open(path("fifo"), fs::write_only);
        co_await f.append("read by nobody");
        co_await reader.close();
        auto late = co_await as_result(f.append("x"));
        EXPECT_TRUE(!late && late.error() == std::errc::broken_pipe);
    });
}

TEST_P(files, have_a_size_that_can_be_set_and_room_that_can_be_taken) {
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("sized"), fs::rewrite | fs::read_write);
        co_await f.write_at(0, pattern(8192));
        co_await f.truncate(100);
        EXPECT_EQ((co_await f.status()).size, 100u);
        co_await f.truncate(8192);
        std::string text(8192, 'x');
        co_await f.read_exactly_at(0, text);
        EXPECT_EQ(text, pattern(100).append(8092, '\0'));
        auto kept = co_await as_result(f.allocate({8192, 65'536}, fs::allocation::keep_size));
        if (!kept && kept.error() == std::errc::operation_not_supported) co_return;
        EXPECT_EQ((co_await f.status()).size, 8192u);
        EXPECT_GE((co_await f.status()).allocated, 65'536u);
        co_await f.allocate({0, 16'384});
        EXPECT_EQ((co_await f.status()).size, 16'384u);
        co_await f.write_at(0, pattern(8192));
        co_await f.allocate({0, 4096}, fs::allocation::punch_hole);
        co_await f.read_exactly_at(0, text);
        EXPECT_EQ(text.substr(0, 4096), std::string(4096, '\0'));
        EXPECT_EQ(text.substr(4096), pattern(8192).substr(4096));
        co_await f.sync();
        co_await f.sync_data();
        co_await f.set_mode(0640);
        co_await f.set_times(1'500'000'000'000'000'001, -1);
        const file_status s = co_await f.status();
        EXPECT_EQ(s.mode, 0640u);
        EXPECT_EQ(s.accessed_ns, 1'500'000'000'000'000'001);
        EXPECT_EQ(s.modified_ns, -1);
    });
}

TEST_P(files, lock_each_other_out) {
    run([&]() -> task<> {
        fs::file one = co_await fs::open(path("lock"), fs::rewrite | fs::read_write);
        fs::file two = co_await fs::open(path("lock"), fs::read_write);
        co_await one.lock(fs::lock_kind::exclusive, {0, 10});
        EXPECT_FALSE(co_await two.try_lock(fs::lock_kind::shared, {9, 1}));
        EXPECT_TRUE(co_await two.try_lock(fs::lock_kind::exclusive, {10, 0}));
        const auto waits = [&] { return two.lock(fs::lock_kind::shared, {0, 5}); };
        auto late = co_await as_result(with_timeout(5ms, waits));
        EXPECT_TRUE(!late && late.error() == std::errc::timed_out);
        const auto gives_up = [&]() -> task<> {
            co_await sleep_for(3ms);
            co_await one.unlock();
        };
        co_await when_all(waits(), gives_up());
        EXPECT_FALSE(co_await one.try_lock(fs::lock_kind::exclusive));
        two = fs::file();
        EXPECT_TRUE(co_await one.try_lock(fs::lock_kind::exclusive));
    });
}

TEST_P(files, may_be_moved_while_they_wait_for_a_lock) {
    run([&]() -> task<> {
        fs::file one = co_await fs::open(path("lock"), fs::rewrite | fs::read_write);
        fs::file two = co_await fs::open(path("lock"), fs::read_write);
        co_await one.lock(fs::lock_kind::exclusive);
        const auto waits = [&] { return two.lock(fs::lock_kind::exclusive); };
        fs::file moved;
        const auto moves = [&]() -> task<> {
            co_await sleep_for(3ms);
            moved = std::move(two);
            co_await one.unlock();
        };
        co_await when_all(waits(), moves());
        EXPECT_FALSE(co_await one.try_lock(fs::lock_kind::exclusive));
    });
}

TEST_P(files, refuse_positions_that_no_file_has) {
    run([&]() -> task<> {
        constexpr std::uint64_t beyond[] = {UINT64_MAX, UINT64_MAX - 1, 1ULL << 63};
        fs::file f = co_await fs::open(path("f"), fs::rewrite | fs::read_write);
        co_await f.write_at(0, "kept");
        char c = 0;
        for (const std::uint64_t at : beyond) {
            auto written = co_await as_result(f.write_at(at, "x"));
            EXPECT_TRUE(!written && written.error() == std::errc::invalid_argument);
            auto read = co_await as_result(f.read_at(at, {&c, 1}));
            EXPECT_TRUE(!read && read.error() == std::errc::invalid_argument);
            auto cut = co_await as_result(f.truncate(at));
            EXPECT_TRUE(!cut && cut.error() == std::errc::invalid_argument);
            auto locked = co_await as_result(f.try_lock(fs::lock_kind::exclusive, {100, at}));
            EXPECT_TRUE(!locked && locked.error() == std::errc::invalid_argument);
            auto room = co_await as_result(f.allocate({at, 1}));
            EXPECT_TRUE(!room && room.error() == std::errc::invalid_argument);
        }
        auto nothing = co_await as_result(f.allocate({}));
        EXPECT_TRUE(!nothing && nothing.error() == std::errc::invalid_argument);
    });
    EXPECT_EQ(content_of(path("f")), "kept");
}

namespace {

/// While it lives no thread can be started: there is no room for its stack.
class no_threads {
public:
    no_threads() {
        ::pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        ::pthread_attr_init(&huge);
        ::pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
        EXPECT_EQ(::pthread_setattr_default_np(&huge), 0);
        ::pthread_attr_destroy(&huge);
    }
    no_threads(const no_threads&) = delete;
    no_threads& operator=(const no_threads&) = delete;
    ~no_threads() {
        ::pthread_setattr_default_np(&before_);
        ::pthread_attr_destroy(&before_);
    }

private:
    pthread_attr_t before_{};
};

}  // namespace

TEST_P(files, are_closed_and_not_locked_when_no_thread_can_be_started) {
    if (GetParam().threads == 0) return;  // none is started
    directory_.write("f", "x");
    run([&]() -> task<> {
        const int number = ::open(path("f").c_str(), O_RDWR | O_CLOEXEC);
        fs::file f = fs::file::adopt(number, "f");
        std::optional<no_threads> none;
        none.emplace();
        auto locked = co_await as_result(f.try_lock(fs::lock_kind::exclusive));
        auto waited = co_await as_result(f.lock(fs::lock_kind::exclusive));
        auto closed = co_await as_result(f.close());
        none.reset();
        EXPECT_TRUE(!locked && locked.error() == std::errc::not_enough_memory);
        EXPECT_TRUE(!waited && waited.error() == std::errc::not_enough_memory);
        EXPECT_TRUE(closed.has_value());
        EXPECT_EQ(::fcntl(number, F_GETFD), -1);
    });
}

TEST_P(files, tell_of_a_full_disk) {
    if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
    run([&]() -> task<> {
        fs::file f = co_await fs::open("/dev/full", fs::write_only);
        auto r = co_await as_result(f.write_at(0, "x"));
        EXPECT_TRUE(!r && r.error() == std::errc::no_space_on_device);
        if (r) co_return;
        EXPECT_EQ(r.error().message(),
                  "write /dev/full: No space left on device; free space on its "
                  "file system, or write elsewhere");
    });
}

TEST_P(files, write_what_fits_and_tell_how_much_that_was) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{1'500'000, before.rlim_max};
    run([&]() -> task<> {
        fs::file f = co_await fs::open(path("limited"), fs::rewrite);
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
        auto r = co_await as_result(f.write_at(0, pattern(2'000'000)));
        EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
        EXPECT_TRUE(!r && r.error() == std::errc::file_too_large);
        if (r) co_return;
        EXPECT_EQ(r.error().bytes(), 1'500'000u);
        EXPECT_NE(r.error().message().find("ulimit -f"), std::string::npos);
    });
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(std::filesystem::file_size(path("limited")), 1'500'000u);
}

TEST_P(files, refuse_what_is_not_permitted) {
    run([&]() -> task<> {
        // Not even root may write through a descriptor for reading.
        directory_.write("for_reading", "x");
        fs::file f = co_await fs::open(path("for_reading"));
        auto r = co_await as_result(f.write_at(0, "y"));
        EXPECT_TRUE(!r && r.error() == std::errc::bad_file_descriptor);
        auto ro = co_await as_result(fs::open("/proc/version", fs::write_only | fs::create_new));
        EXPECT_TRUE(!ro && ro.error() == std::errc::file_exists);
        auto in_file = co_await as_result(fs::open(path("for_reading/x"), fs::rewrite));
        EXPECT_TRUE(!in_file && in_file.error() == std::errc::not_a_directory);
        std::filesystem::permissions(path("for_reading"), std::filesystem::perms::none);
        // Root may read everything, so all threads are somebody else for a moment.
        const uid_t me = ::geteuid();
        EXPECT_EQ(me == 0 ? ::seteuid(65534) : 0, 0);
        auto refused = co_await as_result(fs::open(path("for_reading")));
        EXPECT_EQ(me == 0 ? ::seteuid(me) : 0, 0);
        EXPECT_TRUE(!refused && refused.error() == std::errc::permission_denied);
        if (refused) co_return;
        EXPECT_EQ(refused.error().subject(), path("for_reading"));
        EXPECT_NE(refused.error().message().find("check who may use it"), std::string::npos);
    });
}

TEST_P(files, are_adopted_and_released_and_leave_no_descriptor_behind) {
    directory_.write("x", "content");
    run([&]() -> task<> {
        const std::size_t before = open_descriptors();
        for (int i = 0; i != 20; ++i) {
            fs::file f = co_await fs::open(path("x"));
            const int number = f.release();
            EXPECT_FALSE(f.is_open());
            fs::file g = fs::file::adopt(number, "borrowed");
            EXPECT_EQ(g.path(), "borrowed");
            char c = 0;
            EXPECT_EQ(co_await g.read_at(0, {&c, 1}), 1u);
            f = std::move(g);
            static_cast<void>(f.close());  // what is not awaited does nothing
            EXPECT_TRUE(f.is_open());
        }
        EXPECT_EQ(open_descriptors(), before);
    });
}
