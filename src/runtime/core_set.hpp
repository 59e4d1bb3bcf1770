#pragma once

#include <sched.h>

#include <vector>

namespace coracle::detail {

/// The cores that a thread may run on.
class core_set {
public:
    /// The cores of the calling thread. A system with more cores than the set has room for gives
    /// none.
    core_set() noexcept : known_(::sched_getaffinity(0, sizeof set_, &set_) == 0) {}

    std::vector<int> numbers() const;
    /// Makes the calling thread run on these only.
    void apply() const noexcept {
        if (known_) ::sched_setaffinity(0, sizeof set_, &set_);
    }

private:
    cpu_set_t set_{};
    bool known_;
};

/// Keeps the calling thread on one core while it lives.
class core_pin {
public:
    explicit core_pin(int core) noexcept;
    core_pin(const core_pin&) = delete;
    core_pin& operator=(const core_pin&) = delete;
    ~core_pin() { before_.apply(); }

private:
    core_set before_;
};

}  // namespace coracle::detail
