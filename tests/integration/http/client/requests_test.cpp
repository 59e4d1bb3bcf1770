// The requests of a client, as a server of ours reads them.

#include "support/client_calls.hpp"
#include "support/each_version.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <utility>

#if __has_include(<nlohmann/json.hpp>)
#include <coracle/http/nlohmann.hpp>
#endif

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class client_requests : public each_version {
protected:
    std::string told(http::call c) { return std::move(c).wait().body; }

    local_server server_{tell_request};
    http::client client_{options()};
};

/// Requests that are looked at as bytes.
class client_requests_1_1 : public ::testing::Test {
protected:
    std::string told(http::call c) { return std::move(c).wait().body; }

    local_server server_{tell_request};
    http::client client_;
};

TEST_P(client_requests, have_the_method_that_was_asked_for) {
    const std::string url = server_.url("/a");
    EXPECT_THAT(told(client_.get(url)), StartsWith("GET /a\n"));
    EXPECT_THAT(told(client_.post(url)), StartsWith("POST /a\n"));
    EXPECT_THAT(told(client_.put(url)), StartsWith("PUT /a\n"));
    EXPECT_THAT(told(client_.patch(url)), StartsWith("PATCH /a\n"));
    EXPECT_THAT(told(client_.del(url)), StartsWith("DELETE /a\n"));
    EXPECT_THAT(told(client_.options(url)), StartsWith("OPTIONS /a\n"));
    EXPECT_THAT(told(client_.request("PURGE", url)), StartsWith("PURGE /a\n"));
    EXPECT_EQ(told(client_.head(url)), "");
    for (const char* method : {"CONNECT", "A B", ""}) {
        EXPECT_EQ(failure_of(client_.request(method, url)), std::errc::invalid_argument) << method;
    }
}

TEST_P(client_requests, append_to_the_query_encoded) {
    EXPECT_THAT(told(client_.get(server_.url("/a?x=1#part")).query("q", "b c&d").query("é", "")),
                StartsWith("GET /a?x=1&q=b%20c%26d&%C3%A9=\n"));
    EXPECT_THAT(told(client_.get(server_.url("/a")).query("q", "1")), StartsWith("GET /a?q=1\n"));
}

TEST_P(client_requests, leave_the_escapes_of_a_query_alone) {
    EXPECT_THAT(told(client_.get(server_.url("/%7ea/../b?x=%7e%2f%2F/../é"))),
                StartsWith("GET /b?x=%7e%2f%2F/../%C3%A9\n"));
}

TEST_F(client_requests_1_1, have_their_path_as_it_was_given_where_that_is_asked_for) {
    const scripted_peer peer(script().read_head().respond("x").again());
    http::client_options o;
    o.path_as_is = true;
    http::client client(o);
    const std::string base = peer.url("");
    const std::string odd = "/a/../%2e%2E/./%7eb//c d?q=%7e";
    EXPECT_EQ(client.get(base + odd).wait().body, "x");
    EXPECT_THAT(peer.record().received,
                StartsWith("GET /a/../%2e%2E/./%7eb//c%20d?q=%7e HTTP/1.1\r\n"));
    EXPECT_EQ(client_.get(base + odd).query("r", "1").options("path_as_is=1").wait().body, "x");
    EXPECT_THAT(peer.record(1).received,
                StartsWith("GET /a/../%2e%2E/./%7eb//c%20d?q=%7e&r=1 HTTP/1.1\r\n"));
}

TEST_P(client_requests, have_the_usual_fields_and_those_that_were_set) {
    const std::string plain = told(client_.get(server_.url()));
    EXPECT_THAT(plain, HasSubstr("127.0.0.1:" + std::to_string(server_.port())));
    EXPECT_THAT(plain, HasSubstr("User-Agent: coracle\n"));
    EXPECT_THAT(plain, HasSubstr("Accept: */*\n"));
    EXPECT_THAT(plain, HasSubstr("Accept-Encoding: gzip, deflate, br, zstd\n"));
    const std::string set = told(client_.get(server_.url())
                                     .header("X-A", "1")
                                     .header("x-a", "2")
                                     .header("User-Agent", "mine")
                                     .header("Content-Length", "7")
                                     .header("Connection", "close")
                                     .header("Accept", "text/html"));
    EXPECT_THAT(set, HasSubstr(over_http_2() ? "X-A: 2\n" : "x-a: 2\n"));
    EXPECT_THAT(set, Not(HasSubstr("X-A: 1")));
    EXPECT_THAT(set, HasSubstr("User-Agent: mine\n"));
    EXPECT_THAT(set, HasSubstr("Accept: text/html\n"));
    EXPECT_THAT(set, Not(HasSubstr("*/*")));
    EXPECT_THAT(set, Not(HasSubstr("Content-Length")));
}

TEST_P(client_requests, accept_nothing_but_trailers_over_http_2) {
    const std::string both = told(client_.get(server_.url()).header("TE", "gzip, trailers"));
    const std::string coding = told(client_.get(server_.url()).header("TE", "gzip"));
    if (over_http_2()) {
        EXPECT_THAT(both, HasSubstr("TE: trailers\n"));
        EXPECT_THAT(coding, Not(HasSubstr("TE: ")));
        EXPECT_THAT(coding, StartsWith("GET "));
    } else {
        EXPECT_THAT(both, HasSubstr("TE: gzip, trailers\n"));
        EXPECT_THAT(both, HasSubstr("Connection: TE\n"));
        EXPECT_THAT(coding, HasSubstr("TE: gzip\n"));
        EXPECT_THAT(told(client_.get(server_.url())), Not(HasSubstr("Connection:")));
    }
}

TEST_P(client_requests, refuse_fields_that_would_split_them) {
    const std::string url = server_.url();
    EXPECT_EQ(failure_of(client_.get(url).header("X-A", "1\r\nX-B: 2")),
              std::errc::invalid_argument);
    EXPECT_EQ(failure_of(client_.get(url).header("X A", "1")), std::errc::invalid_argument);
    EXPECT_EQ(failure_of(client_.post(url).body(http::body("x"), "a\r\nb")),
              std::errc::invalid_argument);
    EXPECT_EQ(server_.counters().requests, 0U);
}

TEST_P(client_requests, carry_bodies_from_memory) {
    const std::string small = told(client_.post(server_.url()).body("hello", "text/plain"));
    EXPECT_THAT(small, HasSubstr("Content-Type: text/plain\n"));
    EXPECT_THAT(small, HasSubstr("Content-Length: 5\n"));
    EXPECT_EQ(body_told(small), "hello");
    std::string large(5 * 1024 * 1024, 'x');
    for (std::size_t i = 0; i < large.size(); i += 101) large[i] = static_cast<char>('a' + i % 26);
    EXPECT_TRUE(body_told(told(client_.put(server_.url()).body(large))) == large);
    EXPECT_THAT(told(client_.post(server_.url())), HasSubstr("Content-Length: 0\n"));
}

TEST_P(client_requests, carry_forms) {
    const std::string all = told(client_.post(server_.url()).form("a", "1 2").form("b&", "ü"));
    EXPECT_THAT(all, HasSubstr("Content-Type: application/x-www-form-urlencoded\n"));
    EXPECT_EQ(body_told(all), "a=1%202&b%26=%C3%BC");
}

TEST_P(client_requests, carry_files) {
    const temporary_directory folder;
    const std::string content(300'000, 'f');
    const auto path = folder.write("a.bin", content);
    EXPECT_TRUE(body_told(told(client_.put(server_.url()).body_file(path))) == content);
    const auto empty = folder.write("empty", "");
    EXPECT_EQ(body_told(told(client_.put(server_.url()).body_file(empty))), "");
    EXPECT_EQ(failure_of(client_.put(server_.url()).body_file(folder.path() / "none")),
              std::errc::no_such_file_or_directory);
    EXPECT_EQ(failure_of(client_.put(server_.url()).body_file(folder.path())),
              std::errc::is_a_directory);
}

TEST_P(client_requests, carry_fields_of_content_that_they_lack) {
    const std::string all = told(client_.get(server_.url()).header("Content-Type", "text/x"));
    EXPECT_THAT(all, HasSubstr("Content-Type: text/x\n"));
}

TEST_P(client_requests, carry_no_accept_where_that_is_empty) {
    EXPECT_THAT(told(client_.get(server_.url())), HasSubstr("Accept: */*\n"));
    EXPECT_THAT(told(client_.get(server_.url()).header("Accept", "")), Not(HasSubstr("Accept:")));
}

TEST_P(client_requests, carry_files_that_do_not_say_their_size) {
    const auto sent = body_told(told(client_.put(server_.url()).body_file("/proc/self/status")));
    EXPECT_THAT(sent, HasSubstr("\nPid:\t" + std::to_string(::getpid()) + '\n'));
}

task<> write_three_pieces(http::body_writer& out) {
    co_await out.write("one ");
    co_await out.write("two ");
    co_await out.write("three");
}

TEST_P(client_requests, carry_streams_with_and_without_a_size) {
    const std::string chunked =
        told(client_.post(server_.url()).body(http::body::stream(write_three_pieces)));
    EXPECT_EQ(chunked.contains("Transfer-Encoding: chunked\n"), !over_http_2());
    EXPECT_EQ(body_told(chunked), "one two three");
    const std::string sized =
        told(client_.post(server_.url()).body(http::body::stream(write_three_pieces, 13)));
    EXPECT_THAT(sized, HasSubstr("Content-Length: 13\n"));
    EXPECT_EQ(body_told(sized), "one two three");
}

task<> write_with_trailers(http::body_writer& out) {
    co_await out.write("one");
    out.set_trailer("X-Sum", "6");
    out.set_trailer("x-sum", "7");
    try {
        out.set_trailer("Content-Length", "1");
    } catch (const exception& e) {
        out.set_trailer("X-Refused", e.code() == std::errc::invalid_argument ? "yes" : "no");
    }
}

/// Responds with the trailers of a request, behind its body.
task<http::response> tell_trailers(http::request& req) {
    std::string told = co_await req.body().text();
    for (const char* name : {"X-Sum", "X-Refused"}) {
        told.append(" ").append(req.trailers().get(name));
    }
    co_return http::response(told + ' ' + std::to_string(req.trailers().size()));
}

TEST_P(client_requests, carry_trailers_behind_a_stream_without_a_size) {
    const local_server server(tell_trailers);
    EXPECT_EQ(told(client_.post(server.url()).body(http::body::stream(write_with_trailers))),
              "one 7 yes 2");
    EXPECT_EQ(told(client_.post(server.url()).body(http::body::stream(write_with_trailers, 3))),
              "one   0");
    EXPECT_EQ(told(client_.post(server.url()).body("one")), "one   0");
    EXPECT_EQ(client_.statistics().opened, 1U);
}

TEST_P(client_requests, fail_when_a_stream_is_not_as_long_as_it_said) {
    for (const std::uint64_t size : {12U, 14U}) {
        const error e = failure_of(
            client_.post(server_.url()).body(http::body::stream(write_three_pieces, size)));
        EXPECT_EQ(e, std::errc::invalid_argument) << size << ": " << e;
    }
    EXPECT_EQ(client_.statistics().connections, over_http_2() ? 1U : 0U);
}

TEST_P(client_requests, fail_with_what_a_stream_throws) {
    const auto broken = [](http::body_writer& out) -> task<> {
        co_await out.write("x");
        throw_exception(error(std::errc::no_buffer_space, "mine"));
    };
    EXPECT_EQ(failure_of(client_.post(server_.url()).body(http::body::stream(broken))),
              std::errc::no_buffer_space);
}

TEST_P(client_requests, fail_when_a_stream_goes_on_behind_a_write_that_failed) {
    const auto careless = [](http::body_writer& out) -> task<> {
        for (const char* piece : {"too long", "fits"}) {
            auto writing = out.write(piece);
            static_cast<void>(co_await as_result(writing));
        }
    };
    EXPECT_EQ(failure_of(client_.post(server_.url()).body(http::body::stream(careless, 4))),
              std::errc::invalid_argument);
    const auto enough = [](const http::progress& p) { return p.sent == 0; };
    EXPECT_EQ(
        failure_of(
            client_.post(server_.url()).body(http::body::stream(careless)).on_progress(enough)),
        std::errc::operation_canceled);
    EXPECT_EQ(client_.statistics().connections, over_http_2() ? 1U : 0U);
}

http::form_body one_part() {
    http::form_body parts;
    parts.add("name", "Ada");
    return parts;
}

TEST_P(client_requests, carry_parts_unless_another_body_is_set_behind_them) {
    const std::string parts = told(client_.post(server_.url()).multipart(one_part()));
    EXPECT_THAT(parts, HasSubstr("Content-Type: multipart/form-data; boundary="));
    EXPECT_THAT(body_told(parts), HasSubstr("\r\n\r\nAda\r\n--"));
    const std::string body =
        told(client_.post(server_.url()).multipart(one_part()).body("hello", "text/plain"));
    EXPECT_THAT(body, HasSubstr("Content-Type: text/plain\n"));
    EXPECT_EQ(body_told(body), "hello");
    EXPECT_EQ(body_told(told(client_.post(server_.url()).multipart(one_part()).form("a", "1"))),
              "a=1");
}

TEST_P(client_requests, have_no_parts_that_would_split_them) {
    for (const char* subtype : {"", "form-data\r\nX-Evil: 1", "mixed; a=b"}) {
        EXPECT_THROW(http::form_body{subtype}, exception) << subtype;
    }
    http::form_body parts = one_part();
    EXPECT_THROW(parts.add_data("n", "f", "c", "text/plain\r\nX: y"), exception);
    EXPECT_THROW(parts.add_stream("n", "f", "a\r\nb", write_three_pieces), exception);
    EXPECT_THROW(parts.add_part({{"A\r\nB", "x"}}, "c"), exception);
    EXPECT_THROW(parts.add_part({{"A", "x\r\nB: y"}}, "c"), exception);
    const std::string all =
        body_told(told(client_.post(server_.url()).multipart(std::move(parts))));
    EXPECT_EQ(all.find("Content-Disposition"), all.rfind("Content-Disposition"));
}

TEST_P(client_requests, tell_how_far_they_are_and_stop_when_told_to) {
    for (const std::size_t size : {std::size_t{10}, std::size_t{3'000'000}}) {
        http::progress last;
        const auto note = [&last](const http::progress& p) {
            last = p;
            return true;
        };
        const std::string body(size, 'b');
        const auto r = client_.post(server_.url()).body(body).on_progress(note).wait();
        EXPECT_EQ(last.sent, size);
        EXPECT_EQ(last.to_send, size);
        EXPECT_EQ(last.received, r.body.size());
        EXPECT_EQ(failure_of(
                      client_.post(server_.url()).body(body).on_progress([](const http::progress&) {
                          return false;
                      })),
                  std::errc::operation_canceled)
            << size;
    }
}

TEST_P(client_requests, give_no_body_behind_one_that_its_observer_threw_away) {
    for (const std::size_t size : {std::size_t{10}, std::size_t{3'000'000}}) {
        bool throws = true;
        const auto note = [&throws](const http::progress& p) {
            if (p.received != 0 && std::exchange(throws, false)) throw std::runtime_error("no");
            return true;
        };
        block_on([&]() -> task<> {
            http::response r =
                co_await client_.post(server_.url()).body(std::string(size, 'b')).on_progress(note);
            bool thrown = false;
            try {
                static_cast<void>(co_await r.text());
            } catch (const std::runtime_error&) {
                thrown = true;
            }
            EXPECT_TRUE(thrown);
            auto reading = r.read();
            const auto next = co_await as_result(reading);
            EXPECT_FALSE(next) << size;
        });
    }
}

TEST_P(client_requests, of_bad_urls_fail) {
    for (const char* url : {"", "nonsense", "http://", "http://a b/", "http://h:99999/"}) {
        EXPECT_TRUE(failure_of(client_.get(url)).code()) << url;
    }
    for (const char* url : {"ftp://127.0.0.1/", "file://localhost/etc/passwd"}) {
        EXPECT_EQ(failure_of(client_.get(url)), std::errc::protocol_not_supported) << url;
    }
}

TEST_P(client_requests, make_themselves_known) {
    EXPECT_THAT(told(client_.get(server_.url()).basic("user", secret("pass"))),
                HasSubstr("Authorization: Basic dXNlcjpwYXNz\n"));
    EXPECT_THAT(told(client_.get(server_.url()).bearer(secret("abc"))),
                HasSubstr("Authorization: Bearer abc\n"));
    EXPECT_THAT(told(client_.get("http://user:pass@127.0.0.1:" + std::to_string(server_.port()))),
                HasSubstr("Authorization: Basic dXNlcjpwYXNz\n"));
    EXPECT_THAT(told(client_.get(server_.url()).digest("user", secret("pass"))),
                Not(HasSubstr("Authorization")));
}

TEST_P(client_requests, have_the_credentials_of_the_users_netrc_where_that_is_asked_for) {
    const temporary_directory folder;
    const auto path = folder.write("netrc", "machine 127.0.0.1 login user password pass");
    ::setenv("NETRC", path.c_str(), 1);
    const std::string_view basic = "Authorization: Basic dXNlcjpwYXNz\n";
    EXPECT_THAT(told(client_.get(server_.url())), Not(HasSubstr("Authorization")));
    EXPECT_THAT(told(client_.get(server_.url()).options("netrc=1")), HasSubstr(basic));
    // The caller's own fields come first.
    EXPECT_THAT(told(client_.get(server_.url()).bearer(secret("abc")).options("netrc=1")),
                HasSubstr("Authorization: Bearer abc\n"));
    ::unsetenv("NETRC");
}

TEST_P(client_requests, with_their_whole_response_may_be_kept_and_awaited_together) {
    const std::string url = server_.url("/kept");
    block_on([&]() -> task<> {
        std::weak_ptr<int> lives;
        const auto whole = [&] {
            auto owned = std::make_shared<int>(0);
            lives = owned;
            const auto goes_on = [owned](const http::progress&) { return true; };
            return client_.get(url).on_progress(goes_on).full();
        };
        auto first = whole();
        auto second = client_.post(url).body("payload").full();
        // The sources of the tasks were destroyed with them.
        EXPECT_FALSE(lives.expired());
        auto both = when_all(std::move(first), std::move(second));
        auto [a, b] = co_await std::move(both);
        EXPECT_THAT(a.body, ::testing::StartsWith("GET /kept\n"));
        EXPECT_EQ(body_told(b.body), "payload");
    });
}

TEST_P(client_requests, of_two_users_at_once_do_not_mix_their_credentials) {
    const gate go;
    const auto challenge = [go](http::request& req) -> task<http::response> {
        const bool first = req.header("Authorization").empty();
        if (first) co_await go.passed();
        http::response r(first ? http::status::unauthorized : http::status::ok,
                         std::string(req.header("Authorization")));
        r.set("WWW-Authenticate", "Digest realm=\"r\", nonce=\"n\", qop=\"auth\"");
        co_return std::move(r);
    };
    const local_server server(challenge);
    std::expected<http::full_response, error> a;
    std::expected<http::full_response, error> b;
    const auto one = client_.get(server.url()).digest("anna", secret("1")).start([&](auto r) {
        a = std::move(r);
    });
    const auto two = client_.get(server.url()).digest("berta", secret("2")).start([&](auto r) {
        b = std::move(r);
    });
    while (server.counters().in_flight != 2) std::this_thread::yield();
    go.open();
    one.wait();
    two.wait();
    ASSERT_TRUE(a && b);
    EXPECT_THAT(a->body, HasSubstr("username=\"anna\""));
    EXPECT_THAT(b->body, HasSubstr("username=\"berta\""));
}

#if __has_include(<nlohmann/json.hpp>)
TEST_P(client_requests, carry_json_and_responses_are_read_as_json) {
    const auto echo = [](http::request& req) -> task<http::response> {
        auto reading = req.body().text();
        std::string text = co_await reading;
        http::response r(std::move(text));
        r.set("Content-Type", req.header("Content-Type"));
        co_return std::move(r);
    };
    const local_server server(echo);
    const nlohmann::json value = {{"name", "boat"}, {"count", 3}};
    const auto r = client_.post(server.url()).json(value).wait();
    EXPECT_EQ(r.header("Content-Type"), "application/json");
    EXPECT_EQ(r.json<nlohmann::json>(), value);
    const auto broken = client_.post(server.url()).body("{").wait();
    EXPECT_THROW(broken.json<nlohmann::json>(), exception);
}
#endif

TEST(client_expecting, sends_the_body_when_it_is_asked_for) {
    http::client_options o;
    o.expect_continue_above = 3;
    http::client client(o);
    const scripted_peer peer(script()
                                 .read_until("Expect: 100-continue\r\n\r\n")
                                 .send("HTTP/1.1 100 Continue\r\n\r\n")
                                 .expect("body")
                                 .respond("done"));
    EXPECT_EQ(client.post(peer.url()).body("body").wait().body, "done");
    const local_server server(tell_request);
    EXPECT_EQ(body_told(client.post(server.url()).body("large").wait().body), "large");
    EXPECT_THAT(client.post(server.url()).body("abc").wait().body, Not(HasSubstr("Expect")));
}

TEST(client_expecting, does_not_send_a_body_that_is_refused) {
    http::client_options o;
    o.expect_continue_above = 1;
    http::client client(o);
    const scripted_peer peer(script().read_head().respond("no").read_to_end());
    EXPECT_EQ(client.post(peer.url()).body("secret body").wait().body, "no");
    ASSERT_TRUE(peer.wait_for_end());
    EXPECT_THAT(peer.record().received, Not(HasSubstr("secret body")));
}

TEST(client_expecting, does_not_ask_again_where_the_question_is_refused) {
    const std::string refusal = "HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0\r\n\r\n";
    const script refuses =
        script().read_until("Expect: 100-continue\r\n\r\n").send(refusal).close();
    http::client_options o;
    o.expect_continue_above = 1;
    http::client client(o);
    const scripted_peer peer({refuses, script().read_until("\r\n\r\nbody").respond("done")});
    EXPECT_EQ(client.post(peer.url()).body("body").wait().body, "done");
    ASSERT_EQ(peer.connections(), 2U);
    EXPECT_THAT(peer.record(1).received, Not(HasSubstr("Expect")));
    // Once: a server that wants nothing is believed.
    const scripted_peer never({refuses, script().read_until("\r\n\r\nbody").send(refusal).close()});
    EXPECT_EQ(client.post(never.url()).body("body").wait().status,
              http::status::expectation_failed);
    EXPECT_EQ(never.connections(), 2U);
}

TEST(client_expecting, sends_the_body_after_a_second_to_a_server_that_says_nothing) {
    http::client_options o;
    o.expect_continue_above = 1;
    http::client client(o);
    const scripted_peer silent(script().read_until("\r\n\r\nbody").respond("done"));
    EXPECT_EQ(client.post(silent.url()).body("body").wait().body, "done");
    // One that has begun to say it may take longer.
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 100 Con")
                                 .pause(1200ms)
                                 .send("tinue\r\n\r\n")
                                 .expect("body")
                                 .respond("done"));
    EXPECT_EQ(client.post(peer.url()).body("body").wait().body, "done");
}

TEST(client_uploading, gets_the_response_of_a_server_that_takes_no_more) {
    const scripted_peer peer(
        script()
            .read_head()
            .send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig")
            .close());
    http::client client;
    const std::string body(20'000'000, 'b');
    const auto r = client.post(peer.url()).body(body).wait();
    EXPECT_EQ(r.status, http::status::content_too_large);
    EXPECT_EQ(r.body, "big");
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_uploading, stops_when_the_server_refuses_and_reads_no_more) {
    const std::string refusal = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\r\nbig";
    const scripted_peer peer(script().read_head().send(refusal).stall());
    http::client_options o;
    o.expect_continue_above = 0;
    o.idle_timeout = o.total_timeout = duration::zero();
    http::client client(o);
    const std::string body(20'000'000, 'b');
    EXPECT_EQ(client.post(peer.url()).body(body).wait().status, http::status::content_too_large);
    const auto pieces = [&body](http::body_writer& out) -> task<> {
        for (;;) co_await out.write(body);
    };
    const auto r = client.post(peer.url()).body(http::body::stream(pieces)).wait();
    EXPECT_EQ(r.body, "big");
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST(client_uploading, goes_on_when_the_response_that_comes_early_is_no_refusal) {
    const std::string body(20'000'000, 'b');
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\n")
                                 .read_exactly(1'000'000)
                                 .send("Content-Length: 2\r\n\r\nok")
                                 .read_exactly(19'000'000)
                                 .stall());
    http::client_options o;
    o.expect_continue_above = 0;
    http::client client(o);
    EXPECT_EQ(client.post(peer.url()).body(body).wait().body, "ok");
    EXPECT_EQ(client.statistics().idle, 1U);
}

INSTANTIATE_TEST_SUITE_P(over, client_requests, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
