// PATH.part of a download, without its transfer.

#include "fs/part_file.hpp"

#include "support/no_more_descriptors.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/fs/whole_file.hpp>
#include <coracle/runtime/runtime.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using coracle::testing::no_more_descriptors;
using coracle::testing::temporary_directory;

// All of it was received: nothing may throw that away.
TEST(part_file, is_completed_without_a_descriptor) {
    const temporary_directory directory;
    const std::string path = directory.path() / "f";
    block_on([&path]() -> task<> {
        fs::detail::part_file part(path);
        EXPECT_TRUE(co_await part.open(true));
        EXPECT_TRUE(co_await part.start_anew("\"v1\""));
        EXPECT_TRUE(co_await part.write("all of it"));
        const no_more_descriptors none;
        const auto completed = co_await part.complete(false);
        EXPECT_TRUE(completed) << completed.error().message();
    });
    block_on([&path]() -> task<> {
        EXPECT_EQ(co_await fs::read_text(path), "all of it");
        EXPECT_FALSE(co_await fs::exists(path + ".part"));
    });
}
