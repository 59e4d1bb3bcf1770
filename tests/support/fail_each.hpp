#pragma once

#include "support/allocation_count.hpp"
#include "support/on_each_backend.hpp"
#include "support/open_descriptors.hpp"

#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <system_error>

namespace coracle::testing {

/// Also what a pool says that cannot start its first thread.
inline bool is_shortage(const error& e) {
    return e == std::errc::not_enough_memory || e == std::errc::resource_unavailable_try_again;
}

/// Runs `f` again and again, with another allocation that fails each time, until none is left.
template <class F>
void fail_each(backend_kind kind, F f) {
    runtime_options o;
    o.backend = kind;
    // Caches that live as long as the process are filled.
    for (int i = 0; i != 3; ++i) ASSERT_TRUE(block_on(f, o));
    for (std::size_t n = 1;; ++n) {
        SCOPED_TRACE("allocation " + std::to_string(n));
        const std::ptrdiff_t before = live_allocations();
        const std::size_t descriptors = open_descriptors();
        bool started = false;
        bool good = false;
        auto all = [&]() -> task<bool> {
            started = true;
            co_return co_await f();
        };
        fail_allocation(n);
        try {
            good = block_on(all, o);
        } catch (const std::bad_alloc&) {
            started = false;  // what it needs before it serves, or after
        } catch (const exception& e) {
            EXPECT_TRUE(is_shortage(e.error())) << e.what();
            started = false;
        }
        const bool none_failed = allocation_will_fail();
        fail_allocation(0);
        EXPECT_TRUE(good || !started);
        EXPECT_EQ(live_allocations(), before);
        EXPECT_EQ(open_descriptors(), descriptors);
        if (none_failed || ::testing::Test::HasFailure()) {
            ::testing::Test::RecordProperty("allocations", static_cast<int>(n));
            break;
        }
    }
}

class failing_allocations : public on_each_backend {
protected:
    void SetUp() override {
        on_each_backend::SetUp();
        if (!counts_allocations()) GTEST_SKIP() << "no allocation fails in this build";
    }
};

}  // namespace coracle::testing
