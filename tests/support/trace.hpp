#pragma once

#include <string>
#include <utility>

namespace coracle::testing {

/// Writes a word into a log when it is destroyed: shows which frame goes when.
class trace {
public:
    trace(std::string& log, const char* word) noexcept : log_(&log), word_(word) {}
    trace(trace&& other) noexcept : log_(std::exchange(other.log_, nullptr)), word_(other.word_) {}
    trace& operator=(trace&&) = delete;
    ~trace() {
        if (log_ == nullptr) return;
        if (!log_->empty()) *log_ += ' ';
        *log_ += word_;
    }

private:
    std::string* log_;
    const char* word_;
};

}  // namespace coracle::testing
