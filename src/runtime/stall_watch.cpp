#include "runtime/stall_watch.hpp"

#include "base/small_file.hpp"
#include "runtime/blocked_signals.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <optional>
#include <string_view>

namespace coracle::detail {
namespace {

/// Returns the number of the system call in which a thread of this process waits, or -1 if it waits
/// elsewhere in the kernel; nothing if it is running or runnable, or that is unknown.
std::optional<int> call_waited_in(int thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/syscall";
    const small_file file(path.c_str());
    const std::string_view text = file.text();
    int number = 0;
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failure != std::errc()) return {};
    return number;
}

std::string in_milliseconds(duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
}

}  // namespace

stall_watch::stall_watch(const std::vector<const loop*>& loops, duration limit, const logger& log,
                         bool say_aloud, tally& stalls)
    : limit_(limit), log_(log), say_aloud_(say_aloud), stalls_(stalls) {
    for (const loop* l : loops) samples_.emplace_back(l);
    const blocked_signals on_the_thread;
    thread_ = std::thread([this] { watch(); });
}

stall_watch::~stall_watch() {
    {
        const std::lock_guard lock(guard_);
        over_ = true;
    }
    ends_.notify_one();
    thread_.join();
}

void stall_watch::runs_here(std::size_t index) noexcept {
    samples_[index].thread = ::gettid();
}

void stall_watch::watch() {
    std::unique_lock lock(guard_);
    constexpr duration least = std::chrono::microseconds(100);
    const duration interval = std::max(duration(limit_ / looks), least);
    while (!ends_.wait_for(lock, interval, [this] { return over_; })) {
        for (sample& s : samples_) {
            try {
                look(s);
            } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): looks again soon
            }
        }
    }
}

void stall_watch::look(sample& s) {
    const std::uint64_t turn = s.of->turns();
    if (turn != s.turn || turn == 0 || s.of->is_waiting() || s.of->has_ended()) {
        s.turn = turn;
        s.seen = 0;
        s.next_report = 1;
        s.idle = true;
        return;
    }
    const std::optional<int> call = call_waited_in(s.thread);
    s.idle = s.idle && call;
    s.call = call.value_or(0);
    // The first look may have come at any moment of the turn.
    if (++s.seen < s.next_report * looks + 1) return;
    if (s.seen == looks + 1) ++stalls_;
    report(s);
    s.next_report *= 2;
    s.idle = true;
}

void stall_watch::report(const sample& s) {
    std::string text = "loop " + std::to_string(s.of->index()) + " has been held for over " +
                       in_milliseconds(s.next_report * limit_) + " by '" + s.of->running() + "'";
    if (s.idle && s.call == SYS_futex) {
        text += ", which waits for another thread";
    } else if (s.idle && s.call >= 0) {
        text += ", which is blocked in system call " + std::to_string(s.call);
    }
    if (!say_aloud_ || log_.enabled(log_layer::runtime, log_level::warning)) {
        log_.write(log_layer::runtime, log_level::warning, text);
    } else {
        std::fprintf(stderr, "%s\n", text.c_str());
    }
}

duration stall_limit_of_environment() {
    const char* const text = std::getenv("CORACLE_STALL_LIMIT");
    if (text == nullptr) return {};
    const std::string_view all(text);
    unsigned milliseconds = 0;
    const auto end = std::from_chars(all.begin(), all.end(), milliseconds).ptr;
    return end == all.end() ? std::chrono::milliseconds(milliseconds) : duration::zero();
}

}  // namespace coracle::detail
