#pragma once

#include <cstddef>
#include <cstring>
#include <string_view>

namespace coracle::detail {

/// Returns true if `text` is `literal`: a few instructions, where g++ 12 makes `==` a call of
/// `compare`. For paths of every request.
template <std::size_t N>
bool equals(std::string_view text, const char (&literal)[N]) noexcept {
    return text.size() == N - 1 && std::memcmp(text.data(), literal, N - 1) == 0;
}

}  // namespace coracle::detail
