// A server that is observed in every way, and a client whose calls are measured, allocate nothing
// more for it in steady state.

#include "support/allocation_count.hpp"
#include "support/blocking_peer.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/access_log.hpp>
#include <coracle/http/client.hpp>
#include <coracle/http/client_metrics.hpp>
#include <coracle/http/loop_metrics.hpp>
#include <coracle/http/metrics.hpp>
#include <coracle/http/middleware/request_id.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>

namespace coracle {
namespace {

constexpr unsigned warm_up = 2'000;
constexpr unsigned measured = 10'000;
constexpr unsigned all = warm_up + measured + 1;

constexpr std::string_view one =
    "GET /boats/7 HTTP/1.1\r\nHost: 127.0.0.1\r\nReferer: http://127.0.0.1/boats\r\n"
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0\r\n\r\n";
constexpr std::string_view end = "Hello, World!\n";

/// Counts the allocations of the thread of its loop between two requests.
struct measured_hello {
    std::atomic<unsigned> requests = 0;  // one writer, and the test that looks
    std::size_t before = 0;
    std::size_t after = 0;

    const char* respond() {
        const unsigned n = requests.load(std::memory_order_relaxed);
        if (n == warm_up) before = testing::allocations();
        if (n == warm_up + measured) after = testing::allocations();
        requests.store(n + 1, std::memory_order_relaxed);
        return "Hello, World!\n";
    }
};

struct observed_case {
    http::access_log_format format = http::access_log_format::common;
    bool waits = false;  ///< the handler is a coroutine
};

class observed_allocations : public ::testing::TestWithParam<observed_case> {};

TEST_P(observed_allocations, are_none_for_a_request_in_steady_state) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    const testing::temporary_directory directory;
    http::access_log_options to;
    to.path = (directory.path() / "access.log").string();
    to.format = GetParam().format;
    to.lines.buffer = 16 * 1024 * 1024;  // all lines, so that a slow disk drops none
    http::access_log_file log(to);
    metrics::registry numbers;
    http::response_metrics responses(numbers);
    http::loop_metrics loops(numbers, {.interval = std::chrono::milliseconds(1)});
    measured_hello hello;
    {
        http::router routes;
        routes.use(http::request_id());
        if (GetParam().waits) {
            routes.get("/boats/{id}", [&hello](http::request&) -> task<http::response> {
                co_return hello.respond();
            });
        } else {
            routes.get("/boats/{id}", [&hello](http::request&) { return hello.respond(); });
        }
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.limits.requests = all;
        o.observe(log).observe(responses).observe(loops);
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        for (unsigned i = 0; i != all; ++i) {
            ASSERT_TRUE(peer.send(one)) << i;
            ASSERT_TRUE(peer.receive_until(end)) << i;
        }
    }
    EXPECT_EQ(hello.after, hello.before);
    EXPECT_EQ(log.counters().lines, all);
    const std::string text = numbers.text();
    const std::string line = R"(http_server_requests_total{route="/boats/{id}",method="GET")"
                             R"(,status="2xx"} )" +
                             std::to_string(all) + "\n";
    EXPECT_NE(text.find(line), text.npos) << text;
}

INSTANTIATE_TEST_SUITE_P(of, observed_allocations,
                         ::testing::Values(observed_case{},
                                           observed_case{http::access_log_format::combined, false},
                                           observed_case{http::access_log_format::json, false},
                                           observed_case{http::access_log_format::common, true}),
                         [](const auto& of) {
                             return std::string(to_string(of.param.format)) +
                                    (of.param.waits ? "_with_a_coroutine" : "");
                         });

/// Counts the allocations of lines about one request, each of a second of its own.
struct lines_of_many_seconds {
    std::size_t used = 0;
    std::size_t size = 0;

    void observe(const http::access_record& first) {
        std::string out;
        out.reserve(4'096);
        const std::size_t before = testing::allocations();
        for (int i = 0; i != 100; ++i) {
            for (const auto f : {http::access_log_format::common, http::access_log_format::combined,
                                 http::access_log_format::json}) {
                out.clear();
                http::append_access_log_line(out, f,
                                             {first.peer, first.req, first.status, first.body_bytes,
                                              first.took, first.unix_time + i});
                size += out.size();
            }
        }
        used = testing::allocations() - before;
    }
};

TEST(observed_allocations, are_none_for_a_line_of_another_second) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    lines_of_many_seconds lines;
    {
        http::router routes;
        routes.get("/boats/7", [](http::request&) { return "Hello, World!\n"; });
        http::server_options o;
        o.listen = "127.0.0.1:0";
        o.observe(lines);
        const testing::local_server server(routes, o);
        testing::blocking_peer peer(server.port());
        ASSERT_TRUE(peer.send(one));
        ASSERT_TRUE(peer.receive_until(end));
    }
    EXPECT_GT(lines.size, 300 * one.size() / 2);
    EXPECT_EQ(lines.used, 0u);
}

/// The allocations of calls, after the first ones, that `seen` observes, or nobody.
std::size_t allocations_of_calls(const std::string& url, http::client_metrics* seen) {
    std::size_t used = 0;
    block_on([&]() -> task<> {
        http::client_options o;
        o.proxy_from_environment = false;
        http::client client(o);
        if (seen != nullptr) client.observe(*seen);
        std::size_t before = 0;
        for (unsigned i = 0; i != 1'500; ++i) {
            if (i == 500) before = testing::allocations();
            auto asking = client.get(url).full();
            const http::full_response r = co_await std::move(asking);
            EXPECT_EQ(r.status, http::status::ok);
        }
        used = testing::allocations() - before;
    });
    return used;
}

TEST(observed_allocations, are_none_more_for_a_call_in_steady_state) {
    if (!testing::counts_allocations()) GTEST_SKIP() << "allocations are not counted in this build";
    http::router routes;
    routes.get("/", [](http::request&) { return "Hello, World!\n"; });
    const testing::local_server server(routes);
    const std::string url = "http://127.0.0.1:" + std::to_string(server.port()) + "/";
    metrics::registry numbers;
    http::client_metrics seen(numbers);
    const std::size_t alone = allocations_of_calls(url, nullptr);
    EXPECT_LE(allocations_of_calls(url, &seen), alone);
    EXPECT_NE(numbers.text().find(R"(,status="2xx"} 1500)"), std::string::npos);
}

}  // namespace
}  // namespace coracle
