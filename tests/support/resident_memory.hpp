#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace coracle::testing {

/// The memory of this process that is resident.
inline std::size_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::size_t size = 0;
    std::size_t resident = 0;
    file >> size >> resident;
    return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace coracle::testing
