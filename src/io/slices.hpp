#pragma once

#include <coracle/runtime/backend.hpp>

#include <cstddef>
#include <span>

namespace coracle::io::detail {

inline std::size_t size_of(std::span<const slice> pieces) noexcept {
    std::size_t size = 0;
    for (const slice& s : pieces) size += s.size;
    return size;
}

}  // namespace coracle::io::detail
