#include "base/log_throttle.hpp"

#include <algorithm>

namespace coracle::detail {
namespace {

std::string with_count(std::string_view line, std::uint64_t count) {
    return std::string(line) + " (" + std::to_string(count) + " times)";
}

}  // namespace

void log_throttle::sum_up(const repeated& r, std::vector<std::string>& out) {
    if (r.count != r.written) out.push_back(with_count(r.line, r.count));
}

void log_throttle::sum_up_burst(std::vector<std::string>& out) {
    if (dropped_ == 0) return;
    out.push_back("warning runtime: " + std::to_string(dropped_) +
                  " more warnings and errors were not written");
    dropped_ = 0;
}

void log_throttle::end_windows(time now, std::vector<std::string>& out) {
    const auto ended = std::find_if(lines_.begin(), lines_.end(),
                                    [now](const repeated& r) { return now - r.since < window; });
    for (auto r = lines_.begin(); r != ended; ++r) sum_up(*r, out);
    lines_.erase(lines_.begin(), ended);
    if (now - burst_since_ < burst_window) return;
    sum_up_burst(out);
    burst_since_ = now;
    burst_ = 0;
}

void log_throttle::repeat(repeated& r, std::vector<std::string>& out) {
    if (++r.count != r.written * 10) return;
    r.written = r.count;
    out.push_back(with_count(r.line, r.count));
}

void log_throttle::add(std::string_view line, time now, std::vector<std::string>& out) {
    end_windows(now, out);
    const auto known = std::find_if(lines_.begin(), lines_.end(),
                                    [line](const repeated& r) { return r.line == line; });
    if (known != lines_.end()) return repeat(*known, out);
    if (++burst_ > log_burst) {
        ++dropped_;
        return;
    }
    if (lines_.size() == remembered) {
        sum_up(lines_.front(), out);
        lines_.erase(lines_.begin());
    }
    lines_.push_back({std::string(line), now, 1, 1});
    out.emplace_back(line);
}

void log_throttle::flush(std::vector<std::string>& out) {
    for (const repeated& r : lines_) sum_up(r, out);
    lines_.clear();
    sum_up_burst(out);
}

}  // namespace coracle::detail
