#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/this_task.hpp>

#include <gtest/gtest.h>

#include <mutex>
#include <string>

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
    }
    logger log_;
    std::mutex guard_;
    std::string text_;
};

}  // namespace

TEST(stall_watch, names_the_task_that_holds_its_loop) {
    memory_log log;
    runtime_options o;
    o.loops = 1;
    o.stall_limit = 20ms;
    o.log = &log.log();
    runtime rt(o);
    rt.run([&](loop&) -> task<> {
        co_await this_task::set_name("greedy");
        co_await yield();
        // Holds the loop until it has been found out.
        while (!log.knows("'greedy'")) {
        }
    });
    EXPECT_TRUE(log.knows("loop 0 has been held for over 20 ms by 'greedy'")) << log.text();
    EXPECT_GE(rt.stalls(), 1u);
}

TEST(stall_watch, says_nothing_of_a_loop_that_waits) {
    memory_log log;
    runtime_options o;
    o.loops = 1;
    o.stall_limit = 8ms;
    o.log = &log.log();
    runtime rt(o);
    rt.run([](loop&) -> task<> { co_await sleep_for(100ms); });
    EXPECT_EQ(log.text(), "");
    EXPECT_EQ(rt.stalls(), 0u);
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
