#include "support/temporary_directory.hpp"

#include <coracle/base/error.hpp>
#include <coracle/fs/line_file.hpp>
#include <coracle/runtime/backend.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <iterator>
#include <thread>
#include <vector>

using coracle::fs::line_file;
using coracle::fs::line_file_options;
using coracle::testing::temporary_directory;

namespace {

std::string text_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// Lines that are never written by themselves, only at `flush` and at the end.
line_file_options unhurried(std::size_t buffer = 1024) {
    line_file_options o;
    o.buffer = buffer;
    o.flush_after = std::chrono::hours(1);
    return o;
}

/// A named pipe that has a reader and no room.
class full_pipe {
public:
    full_pipe() : path_(all_.path() / "fifo") {
        EXPECT_EQ(::mkfifo(path_.c_str(), 0600), 0);
        reader_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        plug_ = ::open(path_.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        EXPECT_EQ(::write(plug_, full_.data(), full_.size()), static_cast<ssize_t>(full_.size()));
    }
    full_pipe(const full_pipe&) = delete;
    full_pipe& operator=(const full_pipe&) = delete;
    ~full_pipe() {
        ::close(plug_);
        ::close(reader_);
    }

    std::string path() const { return path_.string(); }
    void drain() const {
        std::string read = full_;
        EXPECT_EQ(::read(reader_, read.data(), read.size()), static_cast<ssize_t>(read.size()));
    }

private:
    const temporary_directory all_;
    const std::filesystem::path path_;
    const std::string full_ = std::string(65536, '.');
    int reader_ = -1;
    int plug_ = -1;
};

/// Hears the errors of a file.
struct listener {
    listener() {
        log.set_sink([](void* user, coracle::log_level, coracle::log_layer,
                        std::string_view s) { static_cast<std::string*>(user)->append(s) += '\n'; },
                     &text);
        log.set_level(coracle::log_level::error);
    }
    line_file_options options() {
        line_file_options o = unhurried();
        o.log = &log;
        return o;
    }

    std::string text;
    coracle::logger log;
};

}  // namespace

TEST(line_file, appends_and_is_whole_at_the_end) {
    const temporary_directory all;
    const auto path = all.write("log", "before\n");
    {
        line_file log(path);
        EXPECT_TRUE(log.add("one\n"));
        EXPECT_TRUE(log.add("two\n"));
    }
    EXPECT_EQ(text_of(path), "before\none\ntwo\n");
}

TEST(line_file, is_made_for_its_owner_and_group_alone) {
    const temporary_directory all;
    const line_file log(all.path() / "log");
    struct stat s{};
    ASSERT_EQ(::stat((all.path() / "log").c_str(), &s), 0);
    EXPECT_EQ(s.st_mode & 07u, 0u);
}

TEST(line_file, writes_by_itself_after_a_while) {
    const temporary_directory all;
    line_file log(all.path() / "log", {.flush_after = std::chrono::milliseconds(1)});
    for (int i = 0; i != 3; ++i) {
        log.add("line\n");
        while (log.counters().bytes != static_cast<std::uint64_t>(i + 1) * 5) {
            std::this_thread::yield();
        }
    }
    EXPECT_EQ(text_of(all.path() / "log"), "line\nline\nline\n");
}

TEST(line_file, writes_earlier_when_half_of_a_buffer_is_taken) {
    const temporary_directory all;
    line_file log(all.path() / "log", unhurried());
    const std::string line(599, 'x');
    log.add(line + '\n');
    while (log.counters().bytes != 600) std::this_thread::yield();
}

TEST(line_file, goes_around_the_end_of_its_buffer) {
    const temporary_directory all;
    const auto path = all.path() / "log";
    line_file log(path, unhurried());
    std::string expected;
    for (int i = 0; i != 100; ++i) {
        const std::string line(static_cast<std::size_t>(i * 7 % 400), 'a');
        ASSERT_TRUE(log.add(line + '\n'));
        expected += line + '\n';
        log.flush();
    }
    EXPECT_EQ(text_of(path), expected);
    EXPECT_EQ(log.counters().lines, 100u);
    EXPECT_EQ(log.counters().bytes, expected.size());
}

TEST(line_file, takes_what_fits_into_the_buffer_and_drops_and_counts_one_byte_more) {
    const temporary_directory all;
    // A FIFO that nobody reads: the thread of the log hangs in its first write.
    const auto path = all.path() / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0);
    const int plug = ::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    const std::string full(65536, '.');
    ASSERT_EQ(::write(plug, full.data(), full.size()), static_cast<ssize_t>(full.size()));
    {
        line_file log(path, unhurried());
        ASSERT_TRUE(log.add(std::string(899, 'a').append(1, '\n')));
        // Taken out of the buffer, and waiting for room in the pipe.
        while (!log.add(std::string(1023, 'b').append(1, '\n'))) std::this_thread::yield();
        const auto dropped = log.counters().dropped;
        EXPECT_FALSE(log.add("\n"));
        EXPECT_EQ(log.counters().dropped, dropped + 1);
        EXPECT_EQ(log.counters().lines, 2u);
    }  // nobody reads: given up after a second
    ::close(plug);
    ::close(reader);
}

TEST(line_file, that_is_longer_than_the_buffer_is_dropped) {
    const temporary_directory all;
    line_file log(all.path() / "log", unhurried());
    EXPECT_FALSE(log.add(std::string(1025, 'a')));
    EXPECT_TRUE(log.add(std::string(1023, 'a').append(1, '\n')));
    EXPECT_EQ(log.counters().dropped, 1u);
}

TEST(line_file, takes_a_buffer_beyond_all_bounds_for_the_largest) {
    const temporary_directory all;
    line_file_options o;
    o.buffer = SIZE_MAX;
    line_file log(all.path() / "log", o);
    EXPECT_TRUE(log.add("a line\n"));
    EXPECT_EQ(log.counters().dropped, 0u);
}

TEST(line_file, counts_what_a_full_disk_swallows) {
    listener said;
    line_file log("/dev/full", said.options());
    log.add("one\ntwo\n");
    log.flush();
    EXPECT_EQ(log.counters().dropped, 2u);
    EXPECT_EQ(log.counters().errors, 1u);
    EXPECT_EQ(log.counters().bytes, 0u);
    log.add("three\n");
    log.flush();
    EXPECT_EQ(log.counters().dropped, 3u);
    // It is said once.
    EXPECT_NE(said.text.find("No space left"), std::string::npos) << said.text;
    EXPECT_EQ(said.text.find('\n'), said.text.size() - 1) << said.text;
}

TEST(line_file, counts_no_line_that_it_puts_behind_a_torn_one_itself) {
    const temporary_directory all;
    rlimit was{};
    ::getrlimit(RLIMIT_FSIZE, &was);
    line_file log(all.path() / "log", unhurried());
    rlimit tight = was;
    tight.rlim_cur = 10;
    ::setrlimit(RLIMIT_FSIZE, &tight);
    log.add("torn in the midst\n");
    log.flush();
    log.add("lost\n");
    log.flush();
    ::setrlimit(RLIMIT_FSIZE, &was);
    EXPECT_EQ(log.counters().bytes, 10u);
    EXPECT_EQ(log.counters().dropped, 2u);
    log.add("whole\n");
    log.flush();
    EXPECT_EQ(text_of(all.path() / "log"), "torn in th\nwhole\n");
}

TEST(line_file, waits_a_second_in_all_for_a_pipe_that_nobody_reads) {
    const full_pipe pipe;
    const auto clock = coracle::make_backend(coracle::backend_kind::poll);
    ASSERT_TRUE(clock);
    coracle::time_point before;
    {
        line_file log(pipe.path(), unhurried());
        std::vector<std::thread> writers;
        for (int i = 0; i != 30; ++i) writers.emplace_back([&log] { log.add("line\n"); });
        for (auto& w : writers) w.join();
        before = (*clock)->now();
    }
    EXPECT_LT((*clock)->now() - before, std::chrono::seconds(15));
}

TEST(line_file, does_not_wait_for_the_reader_of_a_pipe_that_it_opens) {
    const temporary_directory all;
    const auto path = all.path() / "fifo";
    ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    EXPECT_THROW(line_file(path.string()), coracle::exception);
    const int reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    listener said;
    line_file lines(path, said.options());
    ::close(reader);
    lines.reopen();
    lines.add("lost\n");
    lines.flush();
    EXPECT_EQ(lines.counters().dropped, 1u);
    EXPECT_EQ(lines.counters().errors, 2u);
    EXPECT_NE(said.text.find("fifo"), std::string::npos) << said.text;
}

TEST(line_file, flushes_for_so_long_at_the_most) {
    const full_pipe pipe;
    line_file log(pipe.path(), unhurried());
    log.add("line\n");
    EXPECT_FALSE(log.flush(std::chrono::milliseconds(10)));
    pipe.drain();
    EXPECT_TRUE(log.flush());
}

TEST(line_file, that_is_opened_again_knows_that_its_last_line_is_torn) {
    const temporary_directory all;
    const auto path = all.path() / "log";
    rlimit was{};
    ::getrlimit(RLIMIT_FSIZE, &was);
    line_file log(path, unhurried());
    const auto tear_at = [&](rlim_t size) {
        rlimit tight = was;
        tight.rlim_cur = size;
        ::setrlimit(RLIMIT_FSIZE, &tight);
        log.add("torn in the midst\n");
        log.flush();
        ::setrlimit(RLIMIT_FSIZE, &was);
    };
    tear_at(10);
    log.reopen();
    log.flush();
    log.add("whole\n");
    log.flush();
    EXPECT_EQ(text_of(path), "torn in th\nwhole\n");
    // Another file has no such line.
    tear_at(20);
    std::filesystem::rename(path, all.path() / "log.1");
    log.reopen();
    log.flush();
    log.add("new\n");
    log.flush();
    EXPECT_EQ(text_of(path), "new\n");
}

TEST(line_file, goes_on_in_a_new_file_when_told_to_reopen) {
    const temporary_directory all;
    const auto path = all.path() / "log";
    line_file log(path, unhurried());
    log.add("old\n");
    std::filesystem::rename(path, all.path() / "log.1");
    log.reopen();
    log.flush();
    log.add("new\n");
    log.flush();
    EXPECT_EQ(text_of(all.path() / "log.1"), "old\n");
    EXPECT_EQ(text_of(path), "new\n");
    EXPECT_EQ(log.counters().reopened, 1u);
}

TEST(line_file, puts_what_was_added_before_a_reopen_into_the_old_file_whatever_its_thread_is_at) {
    const temporary_directory all;
    for (int i = 0; i != 200; ++i) {
        const auto path = all.path() / std::to_string(i);
        line_file log(path, unhurried());
        // The thread is about to look for lines for the first time.
        for (int wait = 0; wait != i * 20; ++wait)
            std::atomic_signal_fence(std::memory_order_seq_cst);
        log.add("old\n");
        std::filesystem::rename(path, all.path() / "old");
        log.reopen();
        log.flush();
        ASSERT_EQ(text_of(all.path() / "old"), "old\n") << i;
        ASSERT_EQ(text_of(path), "") << i;
    }
}

TEST(line_file, stays_with_the_old_file_when_a_new_one_cannot_be_had) {
    const temporary_directory all;
    const auto directory = all.path() / "d";
    std::filesystem::create_directory(directory);
    line_file log(directory / "log", unhurried());
    std::filesystem::rename(directory, all.path() / "moved");
    log.reopen();
    log.add("line\n");
    log.flush();
    EXPECT_EQ(log.counters().reopened, 0u);
    EXPECT_EQ(log.counters().errors, 1u);
    EXPECT_EQ(text_of(all.path() / "moved/log"), "line\n");
}

TEST(line_file, keeps_the_order_of_each_thread) {
    const temporary_directory all;
    const auto path = all.path() / "log";
    constexpr int threads = 4;
    constexpr int lines = 2000;
    {
        line_file log(path, {.buffer = 64 * 1024, .flush_after = std::chrono::milliseconds(1)});
        std::vector<std::thread> writers;
        for (int t = 0; t != threads; ++t) {
            writers.emplace_back([&log, t] {
                for (int i = 0; i != lines; ++i) {
                    const std::string line = std::to_string(t) + ' ' + std::to_string(i) + '\n';
                    while (!log.add(line)) std::this_thread::yield();
                }
            });
        }
        for (auto& w : writers) w.join();
        EXPECT_EQ(log.counters().lines, static_cast<std::uint64_t>(threads * lines));
    }
    std::ifstream in(path);
    int next[threads] = {};
    int t = 0;
    int i = 0;
    while (in >> t >> i) ASSERT_EQ(i, next[t]++);
    for (const int n : next) EXPECT_EQ(n, lines);
}

TEST(line_file, throws_when_it_cannot_be_opened) {
    const temporary_directory all;
    EXPECT_THROW(line_file(all.path() / "nothing/log"), coracle::exception);
    EXPECT_THROW(line_file(all.path().string()), coracle::exception);
}
