#pragma once

#include <coracle/base/log.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::detail {

/// Decides which of the lines that are logged are written, so that a fault that repeats a hundred
/// thousand times a second leaves a few lines. Of equal lines within `window` the 1st, 10th, 100th
/// and so on pass, the later ones with their number; of different ones `log_burst` in a second.
/// Dropped lines are summed up in lines of their own. Not thread-safe.
class log_throttle {
public:
    using time = std::chrono::nanoseconds;
    static constexpr time window = std::chrono::seconds(10);
    static constexpr time burst_window = std::chrono::seconds(1);
    /// Lines whose repetitions are counted.
    static constexpr std::size_t remembered = 32;

    /// Appends to `out` the lines to write after `line` was logged at `now`.
    void add(std::string_view line, time now, std::vector<std::string>& out);
    /// Appends the counts of all dropped lines, and forgets them.
    void flush(std::vector<std::string>& out);

private:
    struct repeated {
        std::string line;
        time since{};
        std::uint64_t count = 0;
        std::uint64_t written = 0;  ///< the last count written
    };
    static void sum_up(const repeated& r, std::vector<std::string>& out);
    void sum_up_burst(std::vector<std::string>& out);
    void end_windows(time now, std::vector<std::string>& out);
    void repeat(repeated& r, std::vector<std::string>& out);

    std::vector<repeated> lines_;  ///< the oldest first
    time burst_since_{};
    std::uint64_t burst_ = 0;    ///< lines of this second
    std::uint64_t dropped_ = 0;  ///< of them
};

}  // namespace coracle::detail
