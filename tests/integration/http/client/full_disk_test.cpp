// Bodies that are saved to a disk which fills up meanwhile.

#include <coracle/http/download.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/simulated_disk.hpp>
#include <coracle/testing/simulation.hpp>

#include <gtest/gtest.h>

#include <string>

namespace coracle::testing {
namespace {

constexpr std::size_t page = 4096;

/// A server of 100 pages on the first loop of a world, and a client there.
template <class F>
void on_a_small_disk(std::uint64_t seed, std::uint64_t pages, F f) {
    simulated_disk disk({.capacity = pages * page});
    simulation_options o;
    o.seed = seed;
    o.disk = &disk;
    simulation sim(o);
    SCOPED_TRACE(sim.replay());
    http::router routes;
    routes.get("/file", [](http::request&) { return std::string(100 * page, 'x'); });
    http::server_options listening;
    listening.listen = "127.0.0.1:0";
    {
        local_server server(sim.loop(), http::handler(routes), listening);
        sim.run([&]() -> task<> {
            {
                http::client_options how;
                how.proxy_from_environment = false;
                http::client c(how);
                const std::string url =
                    "http://127.0.0.1:" + std::to_string(server.port()) + "/file";
                co_await f(c, url, disk);
            }
            server.stop();
            co_await server.stopped();
        });
    }
    EXPECT_EQ(sim.backend().open_descriptors(), 0U);
}

TEST(a_full_disk, ends_a_download_and_leaves_the_old_file) {
    for (const std::uint64_t seed : seeds(8)) {
        on_a_small_disk(seed, 51,
                        [](http::client& c, std::string url, simulated_disk& disk) -> task<> {
                            disk.write("/old", "old");
                            auto loading = http::download(c, url, "/old", {.delay = duration(0)});
                            const auto got = co_await as_result(loading);
                            EXPECT_TRUE(!got && got.error() == std::errc::no_space_on_device);
                            EXPECT_EQ(disk.read("/old"), "old");
                            // It goes in a task of its own.
                            co_await sleep_for(std::chrono::seconds(1));
                            EXPECT_FALSE(disk.exists("/old.part"));
                            EXPECT_EQ(disk.used(), page);
                            disk.limit(200 * page);
                            auto again = http::download(c, url, "/old", {.delay = duration(0)});
                            const auto now = co_await as_result(again);
                            EXPECT_TRUE(now && now->size == 100 * page);
                            EXPECT_EQ(disk.read("/old").size(), 100 * page);
                        });
    }
}

TEST(a_full_disk, ends_what_saves_a_body_and_leaves_the_old_file) {
    for (const std::uint64_t seed : seeds(8)) {
        on_a_small_disk(
            seed, 51, [](http::client& c, std::string url, simulated_disk& disk) -> task<> {
                disk.write("/old", "old");
                for (const std::uint64_t pages : {51U, 200U}) {
                    disk.limit(pages * page);
                    auto asking = c.get(url);
                    http::response r = co_await asking;
                    auto saving = r.save_to("/old");
                    const auto saved = co_await as_result(saving);
                    if (pages == 51) {
                        EXPECT_TRUE(!saved && saved.error() == std::errc::no_space_on_device);
                        EXPECT_EQ(disk.read("/old"), "old");
                        EXPECT_EQ(disk.used(), page);
                    } else {
                        EXPECT_TRUE(saved && *saved == 100 * page);
                        EXPECT_EQ(disk.read("/old").size(), 100 * page);
                    }
                }
            });
    }
}

}  // namespace
}  // namespace coracle::testing
