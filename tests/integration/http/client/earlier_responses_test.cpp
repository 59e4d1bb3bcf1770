// Responses that a call acts on and does not return, as it tells them.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>
#include <coracle/testing/simulation.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

/// "/N" redirects to "/N-1", with a body that nobody wants; "/0" is the end.
http::response count_down(http::request& req) {
    const int left = std::stoi(std::string(req.path().substr(1)));
    if (left == 0) return "there";
    http::response r = http::redirect("/" + std::to_string(left - 1));
    r.set_body("moved");
    return r;
}

/// Makes the call and returns what was told, then the response or its error.
std::vector<std::string> told_by(http::call c) {
    std::vector<std::string> told;
    c.on_earlier([&](const http::response& r) -> task<> {
        co_await yield();
        told.push_back(std::to_string(static_cast<int>(r.status())) + ' ' +
                       std::string(r.info()->url.path()) + ' ' + std::string(r.header("Location")));
    });
    try {
        told.push_back(std::move(c).wait().body);
    } catch (const exception& e) {
        told.push_back(e.error().code().message());
    }
    return told;
}

class earlier_responses : public each_version {
protected:
    http::call follow(int steps, unsigned most = 5) {
        return client_.get(server_.url("/" + std::to_string(steps)))
            .follow(http::follow::standard, most);
    }

    const local_server server_{count_down};
    http::client client_{options()};
};

TEST_P(earlier_responses, are_told_of_each_redirect) {
    EXPECT_THAT(told_by(follow(2)), ElementsAre("307 /2 /1", "307 /1 /0", "there"));
    EXPECT_THAT(told_by(follow(0)), ElementsAre("there"));
    EXPECT_EQ(client_.statistics().opened, 1U);
}

TEST_P(earlier_responses, are_not_those_that_are_returned) {
    EXPECT_THAT(told_by(client_.get(server_.url("/1"))), ElementsAre("moved"));
}

TEST_P(earlier_responses, have_the_redirect_that_is_one_too_many) {
    EXPECT_THAT(
        told_by(follow(2, 1)),
        ElementsAre("307 /2 /1", "307 /1 /0", make_error_code(errc::limit_exceeded).message()));
}

TEST_P(earlier_responses, have_the_challenge_that_is_met) {
    const local_server server([](http::request& req) -> http::response {
        if (req.fields().contains("Authorization")) return "come in";
        return http::response(http::status::unauthorized)
            .set("WWW-Authenticate", R"(Digest realm="r", nonce="n", qop="auth", algorithm=MD5)");
    });
    EXPECT_THAT(told_by(client_.get(server.url("/door")).digest("ada", secret("x"))),
                ElementsAre("401 /door ", "come in"));
}

TEST_P(earlier_responses, have_those_after_which_the_request_is_sent_again) {
    int requests = 0;
    const local_server server([&](http::request&) -> http::response {
        if (++requests == 2) return "now";
        return http::response(http::status::service_unavailable);
    });
    EXPECT_THAT(told_by(client_.get(server.url("/a")).retry(2, 0ms)),
                ElementsAre("503 /a ", "now"));
}

TEST_P(earlier_responses, are_not_those_whose_retry_would_come_too_late) {
    const local_server server([](http::request&) -> http::response {
        http::response r("later");
        r.set_status(http::status::service_unavailable).set("Retry-After", "3600");
        return r;
    });
    EXPECT_THAT(told_by(client_.get(server.url()).retry(2).timeout(10s)), ElementsAre("later"));
}

TEST_P(earlier_responses, end_the_call_where_its_function_throws) {
    for (const bool waits : {false, true}) {
        auto call = follow(1);
        call.on_earlier([waits](const http::response&) -> task<> {
            if (waits) co_await yield();
            throw exception(error(std::errc::result_out_of_range, "test"));
        });
        EXPECT_EQ(failure_of(std::move(call)), std::errc::result_out_of_range);
    }
    EXPECT_THAT(told_by(follow(0)), ElementsAre("there"));
}

TEST_P(earlier_responses, are_told_within_the_timeout) {
    auto call = follow(1).timeout(50ms);
    call.on_earlier([](const http::response&) { return []() -> task<> { co_await forever(); }(); });
    EXPECT_EQ(failure_of(std::move(call)), std::errc::timed_out);
}

TEST_P(earlier_responses, are_of_one_copy) {
    int requests = 0;
    const local_server server([&](http::request& req) -> task<http::response> {
        ++requests;
        co_await sleep_for(20ms);
        co_return count_down(req);
    });
    auto o = options();
    o.retry.hedge_after = 1ms;
    o.follow = http::follow::standard;
    auto call = client_.get(server.url("/1")).options(o);
    EXPECT_THAT(told_by(std::move(call)), ElementsAre("307 /1 /0", "there"));
    EXPECT_EQ(requests, 2);
}

INSTANTIATE_TEST_SUITE_P(over, earlier_responses, both_versions(), version_name);

TEST(earlier_responses_of_servers, take_none_of_the_time_before_a_retry) {
    for (const duration takes : {duration(3s), duration(9s)}) {
        simulation world;
        std::vector<duration> requests;
        time_point begun;
        const auto busy = [&](http::request&) -> http::response {
            requests.push_back(loop::current()->now() - begun);
            http::response r("later");
            r.set_status(http::status::service_unavailable).set("Retry-After", "5");
            return r;
        };
        std::optional<local_server> server(std::in_place, world.loop(), busy);
        world.run([&]() -> task<> {
            {
                http::client client;
                auto call = client.get(server->url()).retry(1).timeout(10s);
                call.on_earlier(
                    [&](const http::response&) -> task<> { co_await sleep_for(takes); });
                begun = loop::current()->now();
                const auto r = co_await as_result(call);
                EXPECT_LE(loop::current()->now() - begun, 10s);
            }
            server->stop();
            auto stopped = server->stopped();
            co_await std::move(stopped);
        });
        // The second is due after five seconds, or when the function has ended.
        ASSERT_EQ(requests.size(), 2U);
        EXPECT_GE(requests[1], std::max(takes, duration(5s)));
        EXPECT_LT(requests[1], std::max(takes, duration(5s)) + 1s);
    }
}

TEST(earlier_responses_of_servers, are_told_before_their_body_has_come) {
    const scripted_peer slow(
        script()
            .read_head()
            .send("HTTP/1.1 302 Found\r\nLocation: /0\r\nContent-Length: 5\r\n\r\n")
            .stall());
    http::client client;
    auto call = client.get(slow.url("/1")).follow(http::follow::standard).timeout(30s);
    call.on_earlier([](const http::response&) -> task<> {
        throw exception(error(std::errc::result_out_of_range, "test"));
        co_return;
    });
    EXPECT_EQ(failure_of(std::move(call)), std::errc::result_out_of_range);
}

}  // namespace
}  // namespace coracle::testing
