#pragma once

#include <coracle/runtime/loop.hpp>

#include <cstddef>
#include <string>

namespace coracle::http::detail {

/// Bytes of the loop's randomness: the system's, fit for secrets; in a simulation the same ones
/// each time.
inline std::string random_bytes(std::size_t size) {
    std::string bytes;
    bytes.reserve(size);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i != size; ++i) {
        if (i % 8 == 0) bits = loop::current()->random();
        bytes += static_cast<char>(bits & 0xff);
        bits >>= 8;
    }
    return bytes;
}

}  // namespace coracle::http::detail
