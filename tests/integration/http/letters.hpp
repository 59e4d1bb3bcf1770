#pragma once

#include <cstddef>
#include <string>

namespace simulated {

/// A text of `n` letters in which no two pieces are alike for long.
inline std::string text(std::size_t n) {
    std::string s(n, '\0');
    for (std::size_t i = 0; i != n; ++i) s[i] = static_cast<char>('a' + i * 7 % 26);
    return s;
}

}  // namespace simulated
