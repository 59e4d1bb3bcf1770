// Interim responses (1xx), as a call tells them and as `forward_to` passes them on.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"

#include <coracle/http/forward.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <stdexcept>
#include <string>
#include <vector>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;

/// Sends 102 and 103 once the request has been read, and then what was in it.
task<http::response> hint(http::request& req) {
    auto reading = req.body().text();
    std::string content = co_await std::move(reading);
    http::response working(http::status::processing);
    co_await req.inform(working);
    http::response hints(http::status::early_hints);
    hints.fields().add("Link", "</a.css>; rel=preload");
    hints.fields().add("Link", "</b.js>");
    co_await req.inform(hints);
    co_return http::response("got " + content);
}

/// Makes the call and returns what was told, the response last.
std::vector<std::string> told_by(http::call c) {
    std::vector<std::string> told;
    c.on_interim([&](const http::response& r) -> task<> {
        std::string text = std::to_string(static_cast<int>(r.status()));
        for (const http::field& f : r.fields()) text.append(" ").append(f.value);
        told.push_back(std::move(text));
        co_return;
    });
    told.push_back(std::move(c).wait().body);
    return told;
}

class interim_responses : public each_version {
protected:
    const local_server server_{hint};
    http::client client_{options()};
};

TEST_P(interim_responses, are_told_in_order_with_their_fields) {
    EXPECT_THAT(told_by(client_.get(server_.url())),
                ElementsAre("102", "103 </a.css>; rel=preload </b.js>", "got "));
    EXPECT_EQ(client_.get(server_.url()).wait().body, "got ");
}

TEST_P(interim_responses, are_told_behind_an_upload) {
    const std::string content(300'000, 'u');
    EXPECT_THAT(told_by(client_.post(server_.url()).body(content)),
                ElementsAre("102", "103 </a.css>; rel=preload </b.js>", "got " + content));
}

TEST_P(interim_responses, end_the_call_where_its_function_throws) {
    auto call = client_.get(server_.url());
    call.on_interim([](const http::response&) -> task<> {
        co_await yield();
        throw exception(error(std::errc::result_out_of_range, "test"));
    });
    EXPECT_EQ(failure_of(std::move(call)), std::errc::result_out_of_range);
    EXPECT_EQ(client_.get(server_.url()).wait().body, "got ");
}

TEST_P(interim_responses, are_told_within_the_timeouts) {
    auto call = client_.get(server_.url()).timeout(50ms);
    call.on_interim([](const http::response&) { return []() -> task<> { co_await forever(); }(); });
    EXPECT_EQ(failure_of(std::move(call)), std::errc::timed_out);
}

TEST_P(interim_responses, are_passed_on) {
    http::client inner(options());
    const local_server front(http::forward_to(inner, server_.url()));
    EXPECT_THAT(told_by(client_.get(front.url())),
                ElementsAre("102", "103 </a.css>; rel=preload </b.js>", "got "));
    EXPECT_THAT(told_by(client_.post(front.url()).body("boats")),
                ElementsAre("102", "103 </a.css>; rel=preload </b.js>", "got boats"));
}

TEST_P(interim_responses, are_of_one_copy) {
    int requests = 0;
    const local_server server([&](http::request& req) -> task<http::response> {
        ++requests;
        co_await sleep_for(20ms);
        co_return co_await hint(req);
    });
    auto o = options();
    o.retry.hedge_after = 1ms;
    auto call = client_.get(server.url()).options(o);
    EXPECT_THAT(told_by(std::move(call)),
                ElementsAre("102", "103 </a.css>; rel=preload </b.js>", "got "));
    EXPECT_EQ(requests, 1);
}

TEST_P(interim_responses, are_not_passed_on_where_calls_are_hedged) {
    int requests = 0;
    const local_server server([&](http::request& req) -> task<http::response> {
        if (++requests == 1) co_await forever();
        co_return co_await hint(req);
    });
    auto o = options();
    o.retry.hedge_after = 1ms;
    http::client inner(o);
    const local_server front(http::forward_to(inner, server.url()));
    EXPECT_THAT(told_by(client_.get(front.url())), ElementsAre("got "));
}

INSTANTIATE_TEST_SUITE_P(over, interim_responses, both_versions(), version_name);

TEST(interim_responses_of_servers, are_told_before_a_refusal) {
    const scripted_peer peer(
        script().read_head().send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                                  "HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n"));
    http::client client;
    auto call = client.post(peer.url());
    call.body(http::body::stream([](http::body_writer& out) -> task<> {
        co_await out.write("begin");
        co_await forever();
    }));
    EXPECT_THAT(told_by(std::move(call)), ElementsAre("103 </a>", ""));
}

TEST(interim_responses_of_servers, put_no_end_to_the_timeout_of_the_response) {
    const scripted_peer peer(script().read_head().send("HTTP/1.1 103 Early Hints\r\n\r\n").stall());
    http::client_options o;
    o.first_byte_timeout = 50ms;
    http::client client(o);
    auto call = client.get(peer.url());
    call.on_interim([](const http::response&) -> task<> { co_await sleep_for(1ms); });
    EXPECT_EQ(failure_of(std::move(call)), std::errc::timed_out);
}

TEST(interim_responses_of_servers, end_their_connection_where_their_framing_is_wrong) {
    const std::string ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    for (const char* wrong : {"", "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n"}) {
        const std::string hints = std::string("HTTP/1.1 103 Early Hints\r\n") + wrong + "\r\n";
        const script one = script().read_head().send(hints + ok).read_head().send(ok);
        const scripted_peer peer({one, one});
        http::client client;
        EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
        EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
        EXPECT_EQ(peer.connections(), *wrong == '\0' ? 1U : 2U);
    }
}

TEST(interim_responses_of_servers, are_passed_on_without_what_is_of_their_connection) {
    const scripted_peer peer(script().read_head().send(
        "HTTP/1.1 100 Continue\r\n\r\n"
        "HTTP/1.1 103 Early Hints\r\nConnection: X-A\r\nX-A: 1\r\nLink: </a>\r\n\r\n"
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"));
    http::client inner;
    const local_server front(http::forward_to(inner, peer.url("")));
    http::client client;
    EXPECT_THAT(told_by(client.get(front.url("/"))), ElementsAre("103 </a>", "ok"));
}

}  // namespace
}  // namespace coracle::testing
