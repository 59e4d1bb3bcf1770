// Calls of tasks that clean up after the end of the main task of their loop, over HTTP/2.

#include "support/temporary_directory.hpp"

#include <coracle/http/client.hpp>
#include <coracle/http/middleware/otlp_exporter.hpp>
#include <coracle/http/middleware/trace_context.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/spawn.hpp>
#include <coracle/runtime/with_timeout.hpp>
#include <coracle/testing/local_server.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <string>

namespace {

using namespace coracle;
using namespace std::chrono_literals;
using coracle::testing::local_server;
using coracle::testing::local_server_options;

local_server_options over_tls() {
    local_server_options o;
    o.self_signed = true;
    return o;
}

http::client_options over_h2(const std::string& trusted) {
    http::client_options o;
    o.certificates.authorities = trusted;
    o.http_version = http::version_choice::http_2;
    return o;
}

/// Waits until its loop stops it, then calls.
void call_at_the_end(http::client& client, std::string url, std::string& got) {
    spawn([&client, url, &got]() -> task<> {
        co_await as_result(forever());
        const auto call = [&]() -> task<> { got = (co_await client.get(url).full()).body; };
        co_await shielded(20s, call);
    });
}

class client_after_the_end : public ::testing::Test {
protected:
    http::response give(http::request& req) {
        ++asked_;
        if (req.path() == "/large") return std::string(10'000'000, 'l');
        return "goodbye";
    }

    std::atomic<int> asked_ = 0;
    local_server server_{[this](http::request& req) { return give(req); }, over_tls()};
    const coracle::testing::temporary_directory folder_;
    http::client client_{over_h2(folder_.write("ca.pem", server_.authorities()))};
    std::string got_;
};

}  // namespace

TEST_F(client_after_the_end, is_carried_by_a_connection_that_was_idle) {
    block_on([&]() -> task<> {
        call_at_the_end(client_, server_.url(), got_);
        EXPECT_EQ((co_await client_.get(server_.url()).full()).body, "goodbye");
    });
    EXPECT_EQ(got_, "goodbye");
    EXPECT_EQ(asked_, 2);
    EXPECT_EQ(server_.counters().connections, 1u);
}

TEST_F(client_after_the_end, opens_a_connection) {
    block_on([&]() -> task<> {
        call_at_the_end(client_, server_.url(), got_);
        co_return;
    });
    EXPECT_EQ(got_, "goodbye");
}

TEST_F(client_after_the_end, ends_though_a_response_was_never_read) {
    const auto r = block_on([&] { return client_.get(server_.url("/large")); });
    EXPECT_EQ(r.status(), http::status::ok);
}

TEST_F(client_after_the_end, brings_the_last_spans_to_their_collector) {
    std::atomic<int> batches = 0;
    const auto take = [&](http::request& req) -> task<http::response> {
        EXPECT_TRUE((co_await req.body().text()).contains("resourceSpans"));
        ++batches;
        co_return "{}";
    };
    local_server collector(take, over_tls());
    http::client sending(over_h2(folder_.write("collector.pem", collector.authorities())));
    http::tracing_options o;
    http::otlp_options rarely;
    rarely.interval = 1h;
    o.exporter =
        std::make_shared<http::otlp_exporter>(sending, collector.url("/v1/traces"), rarely);
    http::router routes;
    routes.use(http::tracing(o).requests());
    routes.get("/", [](http::request&) { return "traced"; });
    {
        const local_server traced(routes);
        EXPECT_EQ(client_.get(traced.url()).wait().body, "traced");
        EXPECT_EQ(batches, 0);
    }
    EXPECT_EQ(batches, 1);
}
