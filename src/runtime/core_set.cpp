#include "runtime/core_set.hpp"

namespace coracle::detail {

std::vector<int> core_set::numbers() const {
    std::vector<int> cores;
    for (int i = 0; known_ && i != CPU_SETSIZE; ++i) {
        if (CPU_ISSET(static_cast<unsigned>(i), &set_)) cores.push_back(i);
    }
    if (cores.empty()) cores.push_back(0);
    return cores;
}

core_pin::core_pin(int core) noexcept {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(core), &one);
    ::sched_setaffinity(0, sizeof one, &one);
}

}  // namespace coracle::detail
