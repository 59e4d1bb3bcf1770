// Trees that cannot be copied as they are.

#include <coracle/fs/copy.hpp>
#include <coracle/fs/names.hpp>
#include <coracle/testing/simulated_disk.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

using namespace coracle;
using namespace coracle::testing;

TEST(copies_of_the_root, are_made_below_their_destination) {
    simulated_disk disk;
    simulation_options options;
    options.disk = &disk;
    simulation world(options);
    world.run([&]() -> task<> {
        co_await fs::make_directories("/d/e");
        auto done = co_await as_result(fs::copy_tree("/", "/d/e/there"));
        // It meets itself.
        EXPECT_TRUE(!done && done.error() == std::errc::invalid_argument);
    });
    EXPECT_THAT(disk.list("/d/e"), ::testing::ElementsAre("there"));
    EXPECT_TRUE(disk.exists("/d/e/there/d/e"));
}

TEST(copies_of_links, leave_nothing_beside_a_directory_in_their_way) {
    simulated_disk disk;
    simulation_options options;
    options.disk = &disk;
    simulation world(options);
    world.run([&]() -> task<> {
        co_await fs::make_directories("/from");
        co_await fs::symlink("target", "/from/name");
        co_await fs::make_directories("/to/name");
        auto done = co_await as_result(fs::copy_tree("/from", "/to", {.overwrite = true}));
        EXPECT_TRUE(!done && done.error() == std::errc::is_a_directory);
        if (!done) {
            EXPECT_EQ(done.error().subject(), "/to/name");
        }
    });
    EXPECT_THAT(disk.list("/to"), ::testing::ElementsAre("name"));
}
