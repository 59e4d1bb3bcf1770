#pragma once

#include <coracle/runtime/loop.hpp>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace coracle::detail {

/// A thread that looks at loops several times in each `limit`, and reports one that has been in the
/// same turn for longer, with the task that runs: it blocks, or computes for too long.
class stall_watch {
public:
    stall_watch(std::vector<const loop*> loops, duration limit, const logger& log, tally& stalls);
    ~stall_watch();
    stall_watch(const stall_watch&) = delete;
    stall_watch& operator=(const stall_watch&) = delete;

private:
    struct sample {
        const loop* of;
        std::uint64_t turn = 0;
        unsigned seen = 0;  ///< looks in a row that found the loop in this turn, and not waiting
    };
    static constexpr unsigned looks = 8;

    void watch();
    void look(sample& s);

    std::vector<sample> samples_;
    duration limit_;
    const logger& log_;
    tally& stalls_;
    std::mutex guard_;
    std::condition_variable ends_;
    bool over_ = false;
    std::thread thread_;
};

}  // namespace coracle::detail
