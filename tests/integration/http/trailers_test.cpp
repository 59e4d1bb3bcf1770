// Trailers both ways, interim responses, streams of announced size and media types, through a
// server in a simulation.

#include "support/simulated_response.hpp"

#include <coracle/http/server.hpp>
#include <coracle/http/stream_from.hpp>

#include <gtest/gtest.h>

using namespace coracle;
using namespace coracle::testing;

namespace {

simulated_response get(http::handler h, std::string_view fields = {}) {
    return response_of(std::move(h), request_for("GET", fields));
}

http::response with_trailer(bool announced, std::string name = "X-Sum", std::string value = "4") {
    http::response r = http::stream([name, value](http::body_writer& out) -> task<> {
        co_await out.write("data");
        out.set_trailer("X-Sum", "replaced");
        out.set_trailer(name, value);
    });
    if (announced) r.set("Trailer", name);
    return r;
}

http::response sized(std::string text, std::uint64_t size) {
    http::response r;
    r.set_body(http::body::stream(
        [text](http::body_writer& out) -> task<> {
            const std::string_view all = text;
            co_await out.write(all.substr(0, 3));
            co_await out.write(all.substr(3));
        },
        size));
    return r;
}

std::string chunked_request(std::string_view trailers) {
    return "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
           "5\r\nhello\r\n0\r\n" +
           std::string(trailers) + "\r\n";
}

task<> write_data(http::body_writer& out) {
    co_await out.write("data");
}

task<http::response> tell_trailers(http::request& req) {
    std::string text = std::to_string(req.trailers().size()) + ' ';
    text += co_await req.body().text();
    for (const http::field& f : req.trailers()) {
        text += '|';
        text += f.name;
        text += '=';
        text += f.value;
    }
    co_return http::response(std::move(text));
}

}  // namespace

TEST(trailers, of_a_response_are_sent_to_who_asks_for_them) {
    const auto h = [](http::request&) { return with_trailer(false); };
    const auto a = get(h, "TE: trailers\r\n");
    EXPECT_EQ(a.body, "data");
    EXPECT_EQ(a.trailers, "X-Sum: 4\r\n");
    EXPECT_EQ(get(h, "TE: gzip, trailers\r\n").trailers, "X-Sum: 4\r\n");
    EXPECT_EQ(get(h).trailers, "");
    EXPECT_EQ(get(h).body, "data");
}

TEST(trailers, of_a_response_are_sent_when_they_were_announced) {
    const auto a = get([](http::request&) { return with_trailer(true); });
    EXPECT_EQ(a.header("Trailer"), "X-Sum");
    EXPECT_EQ(a.trailers, "X-Sum: 4\r\n");
}

TEST(trailers, of_a_response_are_dropped_for_http_1_0) {
    const auto a = response_of(http::handler([](http::request&) { return with_trailer(true); }),
                               "GET / HTTP/1.0\r\nTE: trailers\r\n\r\n");
    EXPECT_EQ(a.body, "data");
}

TEST(trailers, of_a_response_may_not_frame_or_split_it) {
    for (const char* name : {"Content-Length", "transfer-encoding", "Set-Cookie", "Trailer", "a b",
                             "Host", "Content-Type", "Cache-Control"}) {
        std::error_code seen;
        const auto a = get(
            [&](http::request&) {
                return http::stream([&, name](http::body_writer& out) -> task<> {
                    co_await out.write("data");
                    try {
                        out.set_trailer(name, "1");
                    } catch (const exception& e) {
                        seen = e.code();
                    }
                });
            },
            "TE: trailers\r\n");
        EXPECT_EQ(seen, std::errc::invalid_argument) << name;
        EXPECT_EQ(a.trailers, "");
        EXPECT_TRUE(a.whole);
    }
    const auto a = get([](http::request&) { return with_trailer(true, "X-Sum", "1\r\nX: y"); });
    EXPECT_FALSE(a.whole);
}

TEST(trailers, of_a_request_are_there_behind_its_body) {
    const http::handler h(&tell_trailers);
    EXPECT_EQ(response_of(h, chunked_request("X-A: 1\r\nX-B: 2\r\n")).body, "0 hello|X-A=1|X-B=2");
    EXPECT_EQ(response_of(h, chunked_request("")).body, "0 hello");
    EXPECT_EQ(response_of(h, post_of("hello")).body, "0 hello");
    EXPECT_EQ(response_of(h, request_for("GET")).body, "0 ");
    EXPECT_EQ(response_of(h, chunked_request("Content-Length: 1\r\nX-A: 1\r\n")).body,
              "0 hello|X-A=1");
}

TEST(an_interim_response, comes_before_the_response) {
    const auto h = [](http::request& req) -> task<http::response> {
        http::response hints(http::status::early_hints);
        hints.fields().add("Link", "</a.css>; rel=preload");
        hints.fields().add("Link", "</b.js>; rel=preload");
        hints.fields().add("Content-Length", "3");
        co_await req.inform(hints);
        http::response again(http::status::early_hints);
        co_await req.inform(again);
        co_return http::response("hello");
    };
    const auto a = get(h);
    EXPECT_EQ(a.interim,
              "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n"
              "Link: </b.js>; rel=preload\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n");
    EXPECT_EQ(a.status(), 200);
    EXPECT_EQ(a.body, "hello");
    const auto old = response_of(http::handler(h), "GET / HTTP/1.0\r\n\r\n");
    EXPECT_EQ(old.interim, "");
    EXPECT_EQ(old.body, "hello");
}

TEST(an_interim_response, is_interim) {
    using enum http::status;
    for (const auto code : {ok, switching_protocols, not_found, static_cast<http::status>(99)}) {
        const auto h = [code](http::request& req) -> task<http::response> {
            http::response interim(code);
            auto informing = req.inform(interim);
            const auto told = co_await as_result(informing);
            EXPECT_FALSE(told);
            EXPECT_EQ(told.error(), std::errc::invalid_argument);
            co_return http::response("hello");
        };
        EXPECT_EQ(get(h).interim, "");
    }
}

TEST(an_interim_response, is_too_late_in_the_body) {
    const auto h = [](http::request& req) -> task<http::response> {
        co_return http::stream([&req](http::body_writer& out) -> task<> {
            http::response interim(http::status::early_hints);
            auto informing = req.inform(interim);
            const auto told = co_await as_result(informing);
            EXPECT_FALSE(told);
            EXPECT_EQ(told.error(), std::errc::operation_not_supported);
            co_await out.write("data");
        });
    };
    EXPECT_EQ(get(h).body, "data");
}

TEST(a_stream, keeps_the_media_type_that_a_handler_made) {
    const std::string expected = "text/plain; note=" + std::string(200, 'x');
    const auto h = [&](http::request&) -> task<http::response> {
        const std::string type = expected;
        co_return http::stream(write_data, type);
    };
    EXPECT_EQ(get(h).header("Content-Type"), expected);
    EXPECT_EQ(get(h).body, "data");
    const auto any = [](http::request&) { return http::stream(write_data); };
    EXPECT_EQ(get(any).header("Content-Type"), "application/octet-stream");
    const auto none = [](http::request&) { return http::stream(write_data, ""); };
    EXPECT_EQ(get(none).header("Content-Type"), "-");
}

TEST(a_stream, has_no_media_type_that_splits_its_response) {
    EXPECT_THROW(http::stream(write_data, "a\r\nX: y"), exception);
    const channel<std::string> pieces(1);
    EXPECT_THROW(http::stream_from(pieces, "a\r\nX: y"), exception);
    const auto h = [](http::request&) { return http::stream(write_data, "a\r\nX: y"); };
    EXPECT_EQ(get(h).status(), 500);
    EXPECT_EQ(get(h).header("X"), "-");
}

TEST(a_server_name, is_sent_when_it_can_be_the_value_of_a_field) {
    const http::handler h([](http::request&) { return "data"; });
    http::server_options o;
    o.server_name = "name/1";
    EXPECT_EQ(response_of(h, request_for("GET"), o).header("Server"), "name/1");
    const http::handler named(
        [](http::request&) { return http::response("data").set("Server", "behind/2"); });
    const auto own = response_of(named, request_for("GET"), o);
    EXPECT_EQ(own.header("Server"), "behind/2");
    EXPECT_EQ(own.head.find("name/1"), std::string::npos) << "there is one";
    o.server_name = "name\r\nX: y";
    EXPECT_THROW(http::server(h, o), exception);
}

TEST(a_stream_of_announced_size, has_a_length_and_no_chunks) {
    const auto a = get([](http::request&) { return sized("0123456789", 10); });
    EXPECT_EQ(a.header("Content-Length"), "10");
    EXPECT_FALSE(a.chunked);
    EXPECT_TRUE(a.whole);
    EXPECT_EQ(a.body, "0123456789");
    const auto head = response_of(
        http::handler([](http::request&) { return sized("0123456789", 10); }), request_for("HEAD"));
    EXPECT_EQ(head.header("Content-Length"), "10");
    EXPECT_EQ(head.body, "");
}

TEST(a_stream_of_announced_size, that_is_shorter_resets_the_connection) {
    const auto a = get([](http::request&) { return sized("0123456789", 11); });
    EXPECT_FALSE(a.whole);
    EXPECT_EQ(a.ended, ending::reset);
}

TEST(a_stream_of_announced_size, cannot_write_more) {
    const auto a = get([](http::request&) { return sized("0123456789", 9); });
    EXPECT_FALSE(a.whole);
    EXPECT_EQ(a.ended, ending::reset);
    EXPECT_EQ(a.counters.handler_errors, 1U);
    // Nothing has been sent yet: there is still a response.
    EXPECT_EQ(get([](http::request&) { return sized("0123456789", 2); }).status(), 500);
}
