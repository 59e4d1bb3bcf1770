#pragma once

#include "support/sanitized.hpp"

#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace coracle::testing {

/// How the test that runs is run again with this seed alone.
inline std::string replay(std::uint64_t seed) {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    return "replay with CORACLE_SEED=" + std::to_string(seed) +
           " coracle_integration_tests --gtest_filter=" + test->test_suite_name() + '.' +
           test->name();
}

/// Runs `one(seed)`, which gives the hash of its trace, with so many seeds, fewer under a
/// sanitizer, until one fails; every 16th twice, for the same trace.
template <class F>
void run_seeds(std::uint64_t count, F one) {
    for (const std::uint64_t seed : seeds(fewer_if_sanitized(count))) {
        const std::uint64_t first = one(seed);
        if (seed % 16 == 0) {
            EXPECT_EQ(one(seed), first) << "seed " << seed;
        }
        if (::testing::Test::HasFailure()) return;
    }
}

}  // namespace coracle::testing
