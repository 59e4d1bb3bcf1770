// The access log of a simulated server is on the simulated disk, which may be full.

#include "integration/http/simulated_server.hpp"

#include <coracle/fs/names.hpp>
#include <coracle/http/access_log.hpp>
#include <coracle/testing/simulated_disk.hpp>

#include <algorithm>
#include <optional>

using namespace simulated;

namespace {

/// A server whose log is made in a task of its simulation, as its files are.
struct logged {
    simulated_disk disk;
    std::optional<http::access_log_file> log;

    simulation_options simulation() {
        simulation_options s;
        s.disk = &disk;
        return s;
    }

    http::server_options options() {
        http::server_options o;
        o.observe(*this);
        return o;
    }
    void observe(const http::access_record& record) { log->observe(record); }
};

task<> ask(world& w, int times) {
    peer p = co_await w.connect();
    for (int i = 0; i != times; ++i) {
        co_await p.send(get("/hello"));
        static_cast<void>(co_await read_response(p));
    }
}

std::size_t lines_in(const std::string& text) {
    return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

http::handler hello() {
    return [](http::request&) { return "hello"; };
}

}  // namespace

TEST(simulated_access_log, is_on_the_disk_of_the_world) {
    for (const std::uint64_t seed : seeds(8)) {
        logged l;
        world w(seed, hello(), l.options(), l.simulation());
        w.run([&](world& on) -> task<> {
            l.log.emplace(http::access_log_options{.path = "/access.log"});
            co_await ask(on, 3);
            EXPECT_EQ(l.disk.read("/access.log"), "");
            co_await sleep_for(200ms);
            EXPECT_EQ(lines_in(l.disk.read("/access.log")), 3U);
            EXPECT_EQ(l.disk.status("/access.log")->mode, 0640U);
            co_await ask(on, 1);
            l.log.reset();
            const std::string text = l.disk.read("/access.log");
            EXPECT_EQ(lines_in(text), 4U) << text;
            EXPECT_NE(text.find("\"GET /hello HTTP/1.1\" 200 5"), text.npos) << text;
            l.log.emplace(http::access_log_options{.path = "/access.log"});
            l.log.reset();
        });
    }
}

TEST(simulated_access_log, may_wait_for_no_other_line) {
    logged l;
    world w(1, hello(), l.options(), l.simulation());
    w.run([&](world& on) -> task<> {
        l.log.emplace(
            http::access_log_options{.path = "/log", .lines = {.flush_after = duration::zero()}});
        for (std::size_t i = 1; i != 4; ++i) {
            co_await ask(on, 1);
            co_await sleep_for(1ms);
            EXPECT_EQ(lines_in(l.disk.read("/log")), i);
        }
        l.log.reset();
    });
}

TEST(simulated_access_log, goes_on_in_a_new_file) {
    logged l;
    world w(1, hello(), l.options(), l.simulation());
    w.run([&](world& on) -> task<> {
        l.log.emplace(http::access_log_options{.path = "/log"});
        co_await ask(on, 2);
        co_await fs::rename("/log", "/log.1");
        l.log->reopen();
        co_await ask(on, 1);
        l.log->flush();
        EXPECT_EQ(lines_in(l.disk.read("/log.1")), 2U);
        EXPECT_EQ(lines_in(l.disk.read("/log")), 1U);
        EXPECT_EQ(l.log->counters().reopened, 1U);
        l.disk.refuse("/log", EACCES);
        l.log->reopen();
        co_await ask(on, 1);
        l.log->flush();
        EXPECT_EQ(l.log->counters().errors, 1U);
        l.disk.allow("/log");
        EXPECT_EQ(lines_in(l.disk.read("/log")), 2U);
        EXPECT_THROW(http::access_log_file({.path = "/none/log"}), exception);
        l.log.reset();
    });
}

TEST(simulated_access_log, drops_lines_while_the_disk_is_full_and_goes_on) {
    for (const std::uint64_t seed : seeds(8)) {
        logger quiet;
        std::string told;
        quiet.set_level(log_level::error);
        quiet.set_sink(
            [](void* user, log_level, log_layer, std::string_view text) {
                static_cast<std::string*>(user)->append(text).append("\n");
            },
            &told);
        logged l;
        world w(seed, hello(), l.options(), l.simulation());
        w.run([&](world& on) -> task<> {
            l.log.emplace(http::access_log_options{.path = "/log", .lines = {.log = &quiet}});
            co_await ask(on, 1);
            l.log->flush();
            const std::string before = l.disk.read("/log");
            // The page that the file has takes some lines more, and cuts one.
            l.disk.limit(l.disk.used());
            co_await ask(on, 100);
            l.log->flush();
            const auto full = l.log->counters();
            EXPECT_EQ(l.disk.read("/log").size(), 4096U);
            EXPECT_EQ(full.lines, 101U);
            EXPECT_EQ(full.dropped, 101U - lines_in(l.disk.read("/log")));
            EXPECT_EQ(full.errors, 1U);
            co_await ask(on, 10);
            l.log->flush();
            EXPECT_EQ(l.log->counters().dropped, full.dropped + 10U);
            EXPECT_EQ(lines_in(told), 1U) << told;
            EXPECT_NE(told.find("/log"), told.npos) << told;
            // With room again the torn line is ended first.
            l.disk.limit(1U << 20);
            co_await ask(on, 1);
            l.log->flush();
            const std::string text = l.disk.read("/log");
            EXPECT_TRUE(text.starts_with(before)) << text;
            EXPECT_TRUE(text.ends_with(before.substr(before.find('"')))) << text;
            EXPECT_EQ(l.log->counters().bytes, text.size());
            l.log.reset();
        });
    }
}

TEST(simulated_access_log, loses_what_was_not_written_when_the_power_goes) {
    logger quiet;
    quiet.set_level(log_level::off);
    logged l;
    world w(3, hello(), l.options(), l.simulation());
    w.run([&](world& on) -> task<> {
        l.log.emplace(http::access_log_options{.path = "/log", .lines = {.log = &quiet}});
        co_await ask(on, 5);
        on.sim.crash_disk();
        l.log->flush();
        EXPECT_EQ(l.log->counters().dropped, 5U);
        l.log.reset();
    });
}
