#include <coracle/runtime/background.hpp>
#include <coracle/runtime/offload.hpp>
#include <coracle/runtime/owned_fd.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/this_task.hpp>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace coracle;
using namespace std::chrono_literals;

namespace {

/// Keeps what the library logs at warning and above.
class memory_log {
public:
    memory_log() {
        log_.set_sink(&memory_log::write, this);
        log_.set_level(log_level::warning);
    }
    logger& log() noexcept { return log_; }
    /// False when nobody has said the words within 30 s.
    bool wait_for(std::string_view words) {
        std::unique_lock lock(guard_);
        return more_.wait_for(lock, 30s, [&] { return text_.find(words) != std::string::npos; });
    }
    bool knows(std::string_view words) {
        const std::lock_guard lock(guard_);
        return text_.find(words) != std::string::npos;
    }
    std::string text() {
        const std::lock_guard lock(guard_);
        return text_;
    }

private:
    static void write(void* self, log_level, log_layer, std::string_view text) {
        auto& m = *static_cast<memory_log*>(self);
        const std::lock_guard lock(m.guard_);
        m.text_ += text;
        m.text_ += '\n';
        m.more_.notify_all();
    }
    logger log_;
    std::mutex guard_;
    std::condition_variable more_;
    std::string text_;
};

runtime_options watched(memory_log& log, duration limit) {
    runtime_options o;
    o.loops = 1;
    o.stall_limit = limit;
    o.log = &log.log();
    return o;
}

/// A read that blocks its thread until the log holds `words`.
class slow_read {
public:
    slow_read(memory_log& log, std::string words) {
        int ends[2];
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        reader_.reset(ends[0]);
        writer_.reset(ends[1]);
        rescuer_ = std::thread([this, &log, words = std::move(words)] {
            EXPECT_TRUE(log.wait_for(words));
            static_cast<void>(::write(writer_.get(), "x", 1));
        });
    }
    slow_read(const slow_read&) = delete;
    slow_read& operator=(const slow_read&) = delete;
    ~slow_read() { rescuer_.join(); }
    void read() {
        char byte = 0;
        EXPECT_EQ(::read(reader_.get(), &byte, 1), 1);
    }

private:
    owned_fd reader_;
    owned_fd writer_;
    std::thread rescuer_;
};

/// The threads of this process, with the signals that they block.
std::map<int, std::string> threads_now() {
    std::map<int, std::string> all;
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::string name;
        std::getline(std::ifstream(task.path() / "comm"), name);
        if (name.starts_with("iou-")) continue;  // the kernel's, of a ring
        std::ifstream status(task.path() / "status");
        for (std::string line; std::getline(status, line);) {
            if (!line.starts_with("SigBlk:")) continue;
            all[std::stoi(task.path().filename().string())] = line.substr(8);
        }
    }
    return all;
}

/// Returns true if `f` does so once in ten times. A busy machine can take a thread off its core for
/// longer than any limit, and a loop that is in the midst of a turn is held then.
template <class F>
bool holds_once(F f) {
    for (int i = 0; i != 10; ++i) {
        if (f()) return true;
    }
    return false;
}

}  // namespace

TEST(stall_watch, names_the_task_that_holds_its_loop) {
    memory_log log;
    runtime rt(watched(log, 20ms));
    rt.run([&](loop&) -> task<> {
        co_await this_task::set_name("greedy");
        co_await yield();
        // Holds the loop until it has been found out.
        while (!log.knows("'greedy'")) {
        }
    });
    EXPECT_TRUE(log.knows("loop 0 has been held for over 20 ms by 'greedy'")) << log.text();
    EXPECT_FALSE(log.knows("which")) << log.text();
    EXPECT_GE(rt.stalls(), 1u);
}

TEST(stall_watch, tells_a_task_that_is_blocked_from_one_that_computes) {
    memory_log log;
    slow_read slow(log, "blocked in system call " + std::to_string(SYS_read));
    runtime rt(watched(log, 5ms));
    rt.run([&](loop&) -> task<> {
        co_await this_task::set_name("reader");
        co_await yield();
        slow.read();
    });
    EXPECT_TRUE(log.knows("by 'reader', which is blocked")) << log.text();
}

TEST(stall_watch, tells_anew_of_a_stall_that_goes_on) {
    std::string said;
    EXPECT_TRUE(holds_once([&said] {
        memory_log log;
        slow_read slow(log, "which is blocked");
        runtime rt(watched(log, 5ms));
        rt.run([&](loop&) -> task<> {
            co_await this_task::set_name("two-faced");
            co_await yield();
            // First it computes; once that is known, it blocks, all in one turn.
            while (!log.knows("has been held for over 5 ms by 'two-faced'\n")) {
            }
            slow.read();
        });
        said = log.text();
        return log.knows("by 'two-faced', which is blocked in system call") &&
               !log.knows("5 ms by 'two-faced', which") && rt.stalls() == 1;
    })) << said;
}

TEST(stall_watch, is_asked_for_by_the_environment_and_then_heard_on_standard_error) {
    ASSERT_EQ(::setenv("CORACLE_STALL_LIMIT", "3", 1), 0);
    ::testing::internal::CaptureStderr();
    std::uint64_t stalls = 0;
    {
        runtime_options o;
        o.loops = 1;
        runtime rt(o);
        rt.run([&](loop&) -> task<> {
            while (rt.stalls() == 0) {
            }
            co_return;
        });
        stalls = rt.stalls();
    }
    const std::string heard = ::testing::internal::GetCapturedStderr();
    ::unsetenv("CORACLE_STALL_LIMIT");
    EXPECT_GE(stalls, 1u);
    EXPECT_NE(heard.find("loop 0 has been held for over 3 ms by 'main'\n"), std::string::npos)
        << heard;
}

TEST(threads_of_a_runtime, leave_signals_to_who_waits_for_them) {
    memory_log log;
    const auto before = threads_now();
    runtime_options o = watched(log, 1s);
    o.loops = 1;
    runtime rt(o);
    std::vector<std::string> blocked;
    rt.run([&](loop&) -> task<> {
        co_await offload([] {});
        for (const auto& [number, mask] : threads_now()) {
            if (!before.contains(number) && number != ::gettid()) blocked.push_back(mask);
        }
    });
    ASSERT_EQ(blocked.size(), 2u) << "the watch, and the pool's";
    for (const std::string& mask : blocked) {
        const std::uint64_t bits = std::stoull(mask, nullptr, 16);
        for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGPIPE}) {
            EXPECT_NE(bits >> (number - 1) & 1u, 0u) << number << " of " << mask;
        }
    }
}

TEST(threads_of_a_background, leave_signals_to_who_waits_for_them) {
    const auto before = threads_now();
    background_options o;
    o.loops = 2;
    std::promise<void> called;
    background b(o);
    b.start([]() -> task<> { co_return; }, [&called](auto&&...) { called.set_value(); });
    called.get_future().wait();
    std::size_t count = 0;
    for (const auto& [number, mask] : threads_now()) {
        if (before.contains(number)) continue;
        ++count;
        const std::uint64_t bits = std::stoull(mask, nullptr, 16);
        for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
            EXPECT_NE(bits >> (signal - 1) & 1u, 0u) << signal << " of " << mask;
        }
    }
    EXPECT_GE(count, 3u);
}

TEST(stall_watch, says_nothing_of_a_loop_that_waits) {
    std::string said;
    EXPECT_TRUE(holds_once([&said] {
        memory_log log;
        runtime rt(watched(log, 8ms));
        rt.run([](loop&) -> task<> { co_await sleep_for(100ms); });
        said = log.text();
        return said.empty() && rt.stalls() == 0;
    })) << said;
}

TEST(stall_watch, says_nothing_of_a_loop_that_has_ended) {
    std::string said;
    EXPECT_TRUE(holds_once([&said] {
        memory_log log;
        runtime_options o = watched(log, 8ms);
        o.loops = 2;
        runtime rt(o);
        slow_read slow(log, "loop 1 has been held for over 32 ms");
        struct reads_last {
            slow_read* from;
            ~reads_last() { from->read(); }
        };
        rt.run([&](loop& l) -> task<> {
            if (l.index() == 0) co_return;
            spawn([&]() -> task<> {
                const reads_last last{&slow};
                co_await forever();
            });
            co_await yield();
        });
        said = log.text();
        return said.find("loop 0") == std::string::npos;
    })) << said;
}

TEST(loop_statistics, count_turns_waits_and_processor_time) {
    runtime_options o;
    o.loops = 1;
    runtime rt(o);
    loop_statistics inside;
    rt.run([&](loop& l) -> task<> {
        for (int i = 0; i != 10; ++i) co_await sleep_for(1ms);
        inside = l.statistics();
    });
    EXPECT_GE(inside.turns, 10u);
    EXPECT_GE(inside.waits, 10u);
    EXPECT_GT(inside.processor_time, duration::zero());
    EXPECT_GE(inside.age, 10ms);
    EXPECT_LT(inside.busy(), 1.0);
}
