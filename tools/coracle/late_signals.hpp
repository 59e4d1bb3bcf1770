#pragma once

#include <csignal>
#include <utility>
#include <vector>

namespace coracle::tool {

/// Ignores, from its end on, the signals that nobody waits for any more: the process is about to
/// exit in order, and the last signal of an impatient user would end it otherwise. Stands behind
/// the signal sets, which hold them back until then.
class late_signals {
public:
    explicit late_signals(std::vector<int> numbers) noexcept : numbers_(std::move(numbers)) {}
    late_signals(const late_signals&) = delete;
    late_signals& operator=(const late_signals&) = delete;
    ~late_signals() {
        for (const int number : numbers_) std::signal(number, SIG_IGN);
    }

private:
    std::vector<int> numbers_;
};

}  // namespace coracle::tool
