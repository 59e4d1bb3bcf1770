#pragma once

#include <coracle/runtime/clock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coracle::tool {

/// "12.3 MiB".
std::string size_text(double bytes);
/// "0:42", "1:02:03".
std::string clock_text(double seconds);
/// Without bytes that a terminal obeys; of a longer one the last `width` bytes or fewer.
std::string printable(std::string_view text, std::size_t width = std::string_view::npos);

/// The progress of a transfer.
struct transfer_progress {
    std::string name;
    std::uint64_t there = 0;    ///< bytes, with those of an earlier time
    std::uint64_t earlier = 0;  ///< of these, from an earlier time
    std::optional<std::uint64_t> size;
    time_point begun{};
    double rate = 0;  ///< bytes a second, lately
    std::uint64_t seen = 0;
    time_point seen_at{};

    /// Sets the bytes that were there before: they do not count for the rate.
    void set_there(std::uint64_t bytes) noexcept { there = seen = bytes; }
};

/// Tells on standard error how transfers go on: on a terminal as a bar for each and one for all,
/// at most ten times a second; else as lines. Belongs to one loop.
class progress_display {
public:
    /// Without `bars` only `say` prints. `files` is how many there will be.
    progress_display(bool bars, std::size_t files) noexcept : bars_(bars), files_(files) {}
    ~progress_display() { clear(); }
    progress_display(const progress_display&) = delete;
    progress_display& operator=(const progress_display&) = delete;

    /// `t` must stay until `end`.
    void begin(transfer_progress& t, time_point now);
    void end(transfer_progress& t);
    /// Draws the bars, unless they were drawn a moment ago.
    void draw(time_point now);
    /// Prints lines above the bars.
    void say(std::string_view lines);
    /// Takes the bars away.
    void clear();

private:
    std::string line(const transfer_progress& t, std::size_t width) const;
    std::string total_line(std::size_t width) const;

    bool bars_;
    std::size_t files_;
    std::size_t done_ = 0;
    std::uint64_t done_bytes_ = 0;
    std::vector<transfer_progress*> active_;
    std::size_t drawn_ = 0;
    time_point drawn_at_{};
};

}  // namespace coracle::tool
