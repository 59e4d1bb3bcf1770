#pragma once

namespace coracle::detail {

/// Sets a flag for as long as this lives.
class flag_guard {
public:
    explicit flag_guard(bool& flag) noexcept : flag_(flag) { flag_ = true; }
    flag_guard(const flag_guard&) = delete;
    flag_guard& operator=(const flag_guard&) = delete;
    ~flag_guard() { flag_ = false; }

private:
    bool& flag_;
};

}  // namespace coracle::detail
