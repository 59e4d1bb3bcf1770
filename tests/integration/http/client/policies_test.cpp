// Policies of a call, over either version of HTTP: credentials, retries, deadlines, downloads that
// go on where they broke off, the log.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/heard_log.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/download.hpp>
#include <coracle/http/log_calls.hpp>
#include <coracle/http/middleware/authenticate.hpp>
#include <coracle/http/middleware/digest_authentication.hpp>
#include <coracle/http/router.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_any.hpp>
#include <coracle/testing/local_server.hpp>

#include <gmock/gmock.h>

#include <atomic>
#include <fstream>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class client_policies : public each_version {
protected:
    http::client client_{options()};
};

http::response name_of_user(http::request& req) {
    return http::response(req.data<http::identity>()->name);
}

TEST_P(client_policies, log_in_as_the_server_asks) {
    http::router basic;
    basic.use(http::basic_authentication(
        [](std::string_view user, std::string_view password) -> task<bool> {
            co_return user == "ada" && password == "s3:cret";
        }));
    basic.post("/", name_of_user);
    http::router bearer;
    bearer.use(
        http::bearer_authentication([](std::string_view token) -> task<std::optional<std::string>> {
            if (token == "t0ken") co_return "grace";
            co_return std::nullopt;
        }));
    bearer.post("/", name_of_user);
    http::router digest;
    digest.use(
        http::digest_authentication([](std::string_view user) -> task<std::optional<secret>> {
            co_return http::digest_authentication::stored_password(user, "restricted", "pass");
        }));
    digest.post("/", name_of_user);
    const local_server one{http::handler(basic)};
    const local_server two{http::handler(bearer)};
    const local_server three{http::handler(digest)};
    EXPECT_EQ(client_.post(one.url()).body("x").wait().status, http::status::unauthorized);
    EXPECT_EQ(client_.post(one.url()).basic("ada", secret("s3:cret")).body("x").wait().body, "ada");
    EXPECT_EQ(client_.post(two.url()).bearer(secret("t0ken")).body("x").wait().body, "grace");
    EXPECT_EQ(client_.post(two.url()).bearer(secret("t")).body("x").wait().status,
              http::status::unauthorized);
    for (int i = 0; i != 3; ++i) {
        const auto in = client_.post(three.url()).digest("joan", secret("pass")).body("x").wait();
        EXPECT_EQ(in.body, "joan");
        EXPECT_EQ(in.info.version, over_http_2() ? http::version::http_2 : http::version::http_1_1);
    }
    EXPECT_EQ(client_.post(three.url()).digest("joan", secret("no")).body("x").wait().status,
              http::status::unauthorized);
}

TEST_P(client_policies, retry_what_the_server_did_not_do) {
    std::atomic<int> calls = 0;
    const local_server server([&calls](http::request& req) {
        const int number = ++calls;
        if (req.path() == "/busy" && number < 3) {
            return http::response(http::status::service_unavailable).set("Retry-After", "0");
        }
        if (req.path() == "/later") {
            return http::response(http::status::too_many_requests).set("Retry-After", "3600");
        }
        return http::response("done");
    });
    const auto r = client_.post(server.url("/busy")).body("x").retry(3, 1ms).wait();
    EXPECT_EQ(r.body, "done");
    EXPECT_EQ(r.info.attempts, 3U);
    EXPECT_EQ(calls, 3);
    const auto later = client_.get(server.url("/later")).retry(3, 1ms).wait();
    EXPECT_EQ(later.status, http::status::too_many_requests);
    EXPECT_EQ(later.info.attempts, 1U);
    EXPECT_EQ(calls, 4);
}

TEST_P(client_policies, end_calls_at_their_limits_of_time) {
    const local_server server([](http::request& req) -> task<http::response> {
        const auto stall = [](http::body_writer& out) -> task<> {
            co_await out.write("begins");
            co_await out.flush();
            co_await sleep_for(1h);
        };
        if (req.path() == "/body") co_return http::stream(stall);
        co_await sleep_for(1h);
        co_return http::response();
    });
    const error whole = failure_of(client_.get(server.url()).timeout(20ms));
    EXPECT_EQ(whole, std::errc::timed_out);
    EXPECT_THAT(whole.message(), HasSubstr("timeout"));
    const error head = failure_of(client_.get(server.url()).options("first_byte_timeout=20ms"));
    EXPECT_EQ(head, std::errc::timed_out);
    EXPECT_EQ(head.phase(), phase::first_byte);
    const error body = failure_of(client_.get(server.url("/body")).options("idle_timeout=20ms"));
    EXPECT_EQ(body, std::errc::timed_out);
    EXPECT_EQ(body.phase(), phase::receive);
    const error slow = failure_of(
        client_.get(server.url("/body")).options("low_speed_limit=1000, low_speed_time=20ms"));
    EXPECT_EQ(slow, errc::too_slow);
}

TEST_P(client_policies, end_with_the_task_that_awaits_them) {
    std::atomic<int> begun = 0;
    std::atomic<int> destroyed = 0;
    struct guard {
        std::atomic<int>* count;
        ~guard() { ++*count; }
    };
    const local_server server([&](http::request& req) -> task<http::response> {
        if (req.path() == "/quick") co_return http::response("quick");
        const guard g{&destroyed};
        ++begun;
        co_await sleep_for(1h);
        co_return http::response();
    });
    block_on([&]() -> task<> {
        http::client client(options());
        for (int i = 0; i != 3; ++i) {
            const auto has_begun = [&]() -> task<> {
                while (begun == i) co_await sleep_for(1ms);
            };
            auto first = when_any(client.get(server.url()).full(), has_begun());
            const auto ended = co_await std::move(first);
            EXPECT_EQ(ended.index, 1U);
        }
        EXPECT_EQ((co_await client.get(server.url("/quick")).full()).body, "quick");
        // The server notices, and ends its handlers.
        while (destroyed != 3) co_await sleep_for(1ms);
    });
}

TEST_P(client_policies, ask_a_second_time_when_the_first_copy_is_slow) {
    std::atomic<int> calls = 0;
    const local_server server([&calls](http::request&) -> task<http::response> {
        if (++calls == 1) co_await sleep_for(1h);
        co_return http::response("second");
    });
    http::client_options o = options();
    o.retry.hedge_after = 20ms;
    EXPECT_EQ(client_.get(server.url()).options(o).wait().body, "second");
    EXPECT_EQ(calls, 2);
}

TEST_P(client_policies, go_on_with_a_download_where_it_broke_off) {
    std::string content;
    for (int i = 0; content.size() < 100'000; ++i) content += std::to_string(i) + ' ';
    std::atomic<int> calls = 0;
    const local_server server([&](http::request& req) {
        http::response r;
        if (++calls == 1) {
            const auto write = [&content](http::body_writer& out) -> task<> {
                co_await out.write(std::string_view(content).substr(0, 40'000));
                co_await out.flush();
                throw std::runtime_error("breaks off");
            };
            r.set_body(http::body::stream(write, content.size()));
        } else {
            EXPECT_EQ(req.header("Range"), "bytes=40000-");
            EXPECT_EQ(req.header("If-Range"), "\"v1\"");
            r = http::response(http::status::partial_content, content.substr(40'000));
            r.set("Content-Range", "bytes 40000-" + std::to_string(content.size() - 1) + '/' +
                                       std::to_string(content.size()));
        }
        r.set("ETag", "\"v1\"");
        return r;
    });
    const temporary_directory folder;
    const std::string path = (folder.path() / "file").string();
    const auto done = block_on([&]() -> task<http::downloaded> {
        http::client client(options());
        http::download_options how;
        how.delay = 1ms;
        co_return co_await http::download(client, server.url(), path, std::move(how));
    });
    EXPECT_EQ(done.requests, 2U);
    EXPECT_EQ(done.size, content.size());
    std::ifstream in(path, std::ios::binary);
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(in), {}), content);
}

TEST_P(client_policies, log_each_call_without_its_secrets) {
    heard_log log{log_level::info};
    http::client client{options(), {}, log.options()};
    client.use(http::log_calls({.fields = true}));
    const local_server server(
        [](http::request& req) { return path_of(req).set("Set-Cookie", "a=hidden"); });
    client.get(server.url("/a?token=hidden")).bearer(secret("hidden")).wait();
    const auto lines = log.lines();
    ASSERT_EQ(lines.size(), 1U);
    EXPECT_THAT(lines[0], HasSubstr("/a?token=*** 200, "));
    EXPECT_EQ(lines[0].find("hidden"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(over, client_policies, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
