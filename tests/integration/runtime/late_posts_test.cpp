// Work that is posted when a loop takes no more turns.

#include <coracle/fs/temporary.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

using namespace coracle;

/// Its destructor begins a task.
TEST(late_posts, are_dropped_with_all_that_their_destructors_begin) {
    runtime_options o;
    o.loops = 1;
    runtime rt(o);
    for (int i = 0; i != 2; ++i) {
        std::string path;
        rt.run([&](loop& l) -> task<> {
            auto made = co_await fs::make_temporary_directory();
            path = made.path();
            // The first arrives in the last turn, and so posts behind it.
            l.post([&l, kept = std::move(made)]() mutable {
                l.post([late = std::move(kept)] { static_cast<void>(late); });
            });
        });
        EXPECT_FALSE(path.empty());
        EXPECT_FALSE(std::filesystem::exists(path)) << path;
    }
}
