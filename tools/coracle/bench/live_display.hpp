#pragma once

#include "shared_run.hpp"
#include "worker.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

namespace coracle::tool::bench {

/// Shows on standard error how a run goes on: on a terminal two lines that are drawn again and
/// again, else a line now and then. Belongs to the first loop.
class live_display {
public:
    static constexpr duration period = std::chrono::milliseconds(200);

    enum class manner : std::uint8_t { silent, lines, terminal };
    static manner manner_of_standard_error(bool silent) noexcept;

    explicit live_display(manner m) noexcept : manner_(m) {}
    ~live_display() { clear(); }
    live_display(const live_display&) = delete;
    live_display& operator=(const live_display&) = delete;

    /// Begins another run: its title is shown with several of them.
    void begin(std::string title);
    void draw(const shared_run& run, const measured_span& span, time_point now);
    /// Takes the lines away.
    void clear();
    /// Prints a line above.
    void say(const std::string& line);

private:
    void draw_lines(const std::string& first, const std::string& second);

    manner manner_;
    std::string title_;
    std::size_t drawn_ = 0;
    std::uint64_t said_ = 0;  ///< seconds of the run that had a line
};

}  // namespace coracle::tool::bench
