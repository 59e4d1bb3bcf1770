#pragma once

#include <cstdint>

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || \
    __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CORACLE_TEST_SANITIZED 1
#else
#define CORACLE_TEST_SANITIZED 0
#endif

namespace coracle::testing {

/// True in the build of a sanitizer, where all takes many times as long.
inline constexpr bool is_sanitized = CORACLE_TEST_SANITIZED;

/// A count of seeds or of other things that are alike, or a quarter of it in the build of a
/// sanitizer: the tests of g++ go through all of them.
constexpr std::uint64_t fewer_if_sanitized(std::uint64_t count) noexcept {
    return is_sanitized ? (count + 3) / 4 : count;
}

}  // namespace coracle::testing
