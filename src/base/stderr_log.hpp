#pragma once

#include "base/log_throttle.hpp"

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::detail {

/// Writes lines to a descriptor that may be a pipe without a reader, a stopped terminal or a
/// socket, and never waits. Lines that the descriptor does not take at once are dropped; their
/// number is written when it takes lines again. Safe from any thread.
class line_log {
public:
    explicit line_log(int fd) noexcept : fd_(fd) {}
    line_log(const line_log&) = delete;
    line_log& operator=(const line_log&) = delete;
    ~line_log();

    /// Writes "LEVEL LAYER: text". Warnings and errors go through a `log_throttle`; lower levels
    /// are not throttled.
    void write(log_level level, log_layer layer, std::string_view text) noexcept;
    /// Writes the counts of dropped lines.
    void flush() noexcept;

private:
    void put(const std::vector<std::string>& lines);
    bool put(std::string line);
    std::int64_t write_at_once(std::string_view bytes) noexcept;
    int terminal(std::uint64_t which) noexcept;

    const int fd_;
    std::mutex guard_;
    log_throttle throttle_;
    std::uint64_t lost_ = 0;
    bool torn_ = false;        ///< the last line was written in part
    int terminal_ = -1;        ///< opened for us alone; -1: none
    std::uint64_t which_ = 0;  ///< the device that it is
};

/// Returns the log of standard error. Never destroyed, because static objects may still log.
line_log& standard_error_log();

}  // namespace coracle::detail
