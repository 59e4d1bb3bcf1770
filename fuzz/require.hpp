#pragma once

#include <cstdlib>

/// Ends the fuzzer, which keeps the input, unless the condition holds.
inline void require(bool condition) {
    if (!condition) std::abort();
}
