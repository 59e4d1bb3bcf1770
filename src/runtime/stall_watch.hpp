#pragma once

#include <coracle/runtime/loop.hpp>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace coracle::detail {

/// A thread that checks loops several times in each `limit`, and reports a loop that has been in
/// the same turn for longer, with the running task, and if it computes or waits in the kernel. A
/// stall that goes on is reported again after 2, 4, 8 ... times `limit`, with what it does since
/// the last report, and counted once.
class stall_watch {
public:
    /// Reports go to `log`, or to standard error when that logger drops them and `say_aloud` is
    /// set.
    stall_watch(const std::vector<const loop*>& loops, duration limit, const logger& log,
                bool say_aloud, tally& stalls);
    ~stall_watch();
    stall_watch(const stall_watch&) = delete;
    stall_watch& operator=(const stall_watch&) = delete;

    /// The loop of this index runs on the calling thread.
    void runs_here(std::size_t index) noexcept;

private:
    struct sample {
        explicit sample(const loop* l) noexcept : of(l) {}
        const loop* of;
        std::atomic<int> thread{0};
        std::uint64_t turn = 0;
        unsigned seen =
            0;  ///< consecutive checks that found the loop in this turn, and not waiting
        unsigned next_report = 1;  ///< in multiples of `limit`
        bool idle =
            false;     ///< each check since the last report found its thread waiting in the kernel
        int call = 0;  ///< the system call that it waits in
    };
    static constexpr unsigned looks = 8;

    void watch();
    void look(sample& s);
    void report(const sample& s);

    std::deque<sample> samples_;
    duration limit_;
    const logger& log_;
    bool say_aloud_;
    tally& stalls_;
    std::mutex guard_;
    std::condition_variable ends_;
    bool over_ = false;
    std::thread thread_;
};

/// The limit of CORACLE_STALL_LIMIT, in milliseconds; zero if it is not set.
duration stall_limit_of_environment();

}  // namespace coracle::detail
