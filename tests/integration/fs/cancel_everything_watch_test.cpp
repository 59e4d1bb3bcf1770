#include "support/cancel_everywhere.hpp"
#include "support/open_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/watch.hpp>

#include <gtest/gtest.h>

#include <filesystem>

// Cancels the beginning of a watch at every point; nothing is left open.

using namespace coracle;
using namespace coracle::testing;

namespace {

struct watch_row : cancel_row {
    static constexpr bool real = true;
    static constexpr bool waits_for_a_thread = true;
    temporary_directory directory;
    task<> prepare() {
        for (const char* name : {"a", "a/b", "c"}) {
            std::filesystem::create_directory(directory.path() / name);
        }
        co_return;
    }
    auto make() {
        fs::watch_options o;
        o.recursive = true;
        return fs::watch(directory.path().string(), std::move(o));
    }
};

TEST(cancel_watching, leaves_no_descriptor) {
    const auto before = open_descriptors();
    row<watch_row>("fs::watch(path, options)").run();
    EXPECT_EQ(open_descriptors(), before);
}

}  // namespace
