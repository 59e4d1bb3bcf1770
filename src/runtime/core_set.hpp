#pragma once

#include <sched.h>

#include <vector>

namespace coracle::detail {

/// The cores that a thread may run on.
class core_set {
public:
    /// Those of the calling thread. A system with more than the set has room for tells none.
    core_set() noexcept : known_(::sched_getaffinity(0, sizeof set_, &set_) == 0) {}

    std::vector<int> numbers() const;
    /// From now on the calling thread runs on these only.
    void apply() const noexcept {
        if (known_) ::sched_setaffinity(0, sizeof set_, &set_);
    }

private:
    cpu_set_t set_{};
    bool known_;
};

/// While it lives, the calling thread runs on one core only.
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
