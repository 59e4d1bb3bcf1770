#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace coracle::testing {

/// How many descriptors this process has open, the one that it is counted with among them.
inline std::size_t open_descriptors() {
    const std::filesystem::directory_iterator all("/proc/self/fd");
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

}  // namespace coracle::testing
