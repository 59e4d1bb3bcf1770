// Servers that break the rules or never end: each meets a limit, and the error names it.

#include "support/client_calls.hpp"
#include "support/codings.hpp"
#include "support/eventually.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/runtime/runtime.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class hostile_servers : public ::testing::Test {
protected:
    /// How the call of a server that does this fails. No connection may be left in use.
    error failure(script does, http::client_options o = {}) {
        const scripted_peer peer(std::move(does));
        http::client client(o);
        const error e = failure_of(client.get(peer.url()));
        // The peer may be closing one that waits.
        EXPECT_TRUE(eventually([&] {
            const auto s = client.statistics();
            return s.connections == s.idle;
        }));
        EXPECT_EQ(client.statistics().failed, 1U) << e;
        return e;
    }
    /// The failure after these bytes as the response, followed by the end.
    error failure_after(std::string bytes) {
        return failure(script().read_head().send(std::move(bytes)).close());
    }
};

TEST_F(hostile_servers, with_endless_heads_meet_head_limit) {
    const error fields = failure(script()
                                     .read_head()
                                     .send("HTTP/1.1 200 OK\r\n")
                                     .send_endlessly("X-" + std::string(4000, 'a') + ": b\r\n"));
    EXPECT_EQ(fields, errc::limit_exceeded);
    EXPECT_THAT(fields.message(), HasSubstr("client_options::head_limit"));
    const error line = failure(script()
                                   .read_head()
                                   .send("HTTP/1.1 200 OK\r\nX-A: ")
                                   .send_endlessly(std::string(999, 'a')));
    EXPECT_EQ(line, errc::limit_exceeded);
    EXPECT_THAT(line.message(), HasSubstr("client_options::head_limit"));
    const error status = failure(script().read_head().send_endlessly("HTTP/1.1 200 OK"));
    EXPECT_TRUE(status.code()) << status;
    const error many =
        failure(script().read_head().send("HTTP/1.1 200 OK\r\n").send_endlessly("A: b\r\n"));
    EXPECT_THAT(many.message(), HasSubstr("client_options::field_limit"));
}

TEST_F(hostile_servers, may_send_a_head_of_just_the_limit) {
    const std::string start = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX-A: ";
    http::client_options o;
    o.head_limit = 40'000;
    const std::string head = start + std::string(o.head_limit - start.size() - 4, 'a') + "\r\n\r\n";
    const scripted_peer peer(script().read_head().send(head + "ok"));
    http::client client(o);
    EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
    o.head_limit -= 1;
    EXPECT_EQ(failure_of(client.get(peer.url()).options(o)), errc::limit_exceeded);
}

TEST_F(hostile_servers, with_endless_interim_responses_meet_interim_limit) {
    const error e =
        failure(script().read_head().send_endlessly("HTTP/1.1 103 Early Hints\r\nX-A: 1\r\n\r\n"));
    EXPECT_EQ(e, errc::limit_exceeded);
    EXPECT_THAT(e.message(), HasSubstr("client_options::interim_limit"));
    http::client_options o;
    o.interim_limit = 2;
    const std::string one = "HTTP/1.1 102 Processing\r\n\r\n";
    http::client client(o);
    const scripted_peer two(script().read_head().send(one + one).respond("ok"));
    EXPECT_EQ(client.get(two.url()).wait().body, "ok");
    const scripted_peer three(script().read_head().send(one + one + one).respond("no"));
    EXPECT_EQ(failure_of(client.get(three.url())), errc::limit_exceeded);
}

TEST_F(hostile_servers, with_endless_bodies_meet_body_limit_and_response_limit) {
    http::client_options o;
    o.body_limit = 1'000'000;
    const auto endless = [] {
        return script()
            .read_head()
            .send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            .send_endlessly("1000\r\n" + std::string(4096, 'b') + "\r\n");
    };
    const error body = failure(endless(), o);
    EXPECT_EQ(body, errc::limit_exceeded);
    EXPECT_THAT(body.message(), HasSubstr("client_options::body_limit"));
}

TEST_F(hostile_servers, meet_response_limit_whatever_the_size_and_the_framing) {
    for (const std::size_t size : {std::size_t{100}, std::size_t{100'000}}) {
        http::client_options o;
        o.response_limit = size;
        http::client client(o);
        const std::string most(size, 'b');
        const scripted_peer peer(
            {script().read_head().respond(most).close(),
             script().read_head().respond(most + 'b').close(),
             script().read_head().send("HTTP/1.1 200 OK\r\n\r\n" + most + 'b').close()});
        EXPECT_EQ(client.get(peer.url()).header("Connection", "close").wait().body.size(), size);
        ASSERT_TRUE(peer.wait_for_end());
        for (int i = 0; i != 2; ++i) {
            const error e = failure_of(client.get(peer.url()));
            EXPECT_EQ(e, errc::limit_exceeded) << size;
            EXPECT_THAT(e.message(), HasSubstr("client_options::response_limit")) << size;
        }
    }
}

TEST_F(hostile_servers, that_announce_more_than_may_be_meet_the_limit) {
    http::client_options o;
    o.body_limit = 1000;
    const error e = failure(script().read_head().respond_claiming(1ULL << 60, "x").stall(), o);
    EXPECT_EQ(e, errc::limit_exceeded) << e;
    EXPECT_THAT(e.message(), HasSubstr("client_options::body_limit"));
}

TEST_F(hostile_servers, with_bad_chunks_are_told_apart) {
    const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    struct {
        const char* bytes;
        const char* says;
    } const table[] = {
        {"fffffffffffffffff\r\n", "chunk size"},
        {"ffffffffffffffff\r\n", "chunk size"},
        {"x\r\n", "chunk size"},
        {"-1\r\n", "chunk size"},
        {"3\r\nabcd\r\n", "not followed by CRLF"},
    };
    for (const auto& [bytes, says] : table) {
        const error e = failure_after(head + bytes);
        EXPECT_THAT(e.message(), HasSubstr(says)) << bytes;
    }
    const error line = failure(script().read_head().send(head + "1;").send_endlessly("a"));
    EXPECT_THAT(line.message(), HasSubstr("limit")) << line;
    const error small = failure(
        script().read_head().send(head).send_endlessly("1;" + std::string(100, 'a') + "\r\nx\r\n"));
    EXPECT_THAT(small.message(), HasSubstr("proportion")) << small;
    const error trailers =
        failure(script().read_head().send(head + "0\r\n").send_endlessly("X-A: b\r\n"));
    EXPECT_THAT(trailers.message(), HasSubstr("trailer")) << trailers;
}

TEST_F(hostile_servers, with_bad_heads_are_told_apart) {
    struct {
        const char* head;
        const char* says;
    } const table[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n", "more than once"},
        {"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", "Content-Length"},
        {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
         "Transfer-Encoding"},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "coding"},
        {"HTTP/1.1 200 OK\r\nA : b\r\n\r\n", "space"},
        {"HTTP/1.1 200 OK\r\n A: b\r\n\r\n", "folding"},
        {"HTTP/1.1 099 OK\r\n\r\n", "status code"},
        {"HTTP/2.0 200 OK\r\n\r\n", "version"},
        {"SSH-2.0-OpenSSH_9.2\r\n", "version"},
        {"\x16\x03\x01\x02\r\n\r\n", "version"},
        {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "response"},
    };
    for (const auto& [head, says] : table) {
        const error e = failure_after(head);
        EXPECT_THAT(e.message(), HasSubstr(says)) << head;
        EXPECT_FALSE(e.safe_to_retry() && e.bytes() != 0) << head;
    }
}

TEST_F(hostile_servers, that_end_too_early_are_errors_and_no_short_success) {
    for (const char* bytes : {
             "",
             "HTTP/1.1 200 OK\r\nContent-Le",
             "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfive!",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfive!\r\n",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfiv",
             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
             "HTTP/1.1 100 Continue\r\n\r\n",
         }) {
        EXPECT_EQ(failure_after(bytes), errc::end_of_stream) << bytes;
        const error cut = failure(script().read_head().send(bytes).reset());
        EXPECT_TRUE(cut == std::errc::connection_reset) << bytes << ": " << cut;
    }
}

TEST_F(hostile_servers, that_reset_an_upload_have_not_sent_a_whole_response) {
    // Its end would be that of the connection. The send meets the reset first.
    const scripted_peer peer(
        script().read_head().send("HTTP/1.1 200 OK\r\n\r\nhalf").read_exactly(1024 * 1024).reset());
    http::client client;
    const error e = failure_of(client.post(peer.url()).body(std::string(64 * 1024 * 1024, 'x')));
    EXPECT_TRUE(e == std::errc::connection_reset) << e;
}

TEST_F(hostile_servers, do_not_get_to_respond_to_what_was_not_asked) {
    // The second response stands behind the first one: it belongs to nobody.
    const std::string split =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none"
        "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";
    for (const char* framing : {"length", "chunked", "none"}) {
        std::string bytes = split;
        if (framing == std::string_view("chunked")) {
            bytes = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n" +
                    split;
        } else if (framing == std::string_view("none")) {
            bytes = "HTTP/1.1 204 No Content\r\n\r\n" + split;
        }
        const scripted_peer peer({script().read_head().send(bytes).read_to_end(),
                                  script().read_head().respond("good").read_to_end()});
        http::client client;
        static_cast<void>(client.get(peer.url()).wait());
        const auto second = client.get(peer.url()).wait();
        EXPECT_EQ(second.body, "good") << framing;
        EXPECT_FALSE(second.info.reused) << framing;
    }
}

TEST_F(hostile_servers, do_not_get_to_respond_ahead) {
    // Bytes that come while the connection waits for its next request.
    const gate late;
    const scripted_peer peer({script().read_head().respond("one").stall(late).respond("evil"),
                              script().read_head().respond("good")});
    http::client client;
    EXPECT_EQ(client.get(peer.url()).wait().body, "one");
    late.open();
    ASSERT_TRUE(peer.wait_until([](const auto& r) { return r.at(0).steps > 3; }));
    while (client.statistics().connections != 0) std::this_thread::yield();
    EXPECT_EQ(client.get(peer.url()).wait().body, "good");
}

TEST_F(hostile_servers, with_compression_bombs_meet_the_ratio_and_response_limit) {
    const std::string zeros(8 * 1024 * 1024, '\0');
    for (const char* name : {"gzip", "deflate", "br", "zstd"}) {
        const std::string bomb = encoded(*coding::find_content_coding(name), zeros);
        const std::string field = std::string("Content-Encoding: ") + name + "\r\n";
        http::client_options o;
        o.body_limit = 1ULL << 30;
        o.compression_ratio = 100;
        const error ratio = failure(script().read_head().respond(bomb, field).close(), o);
        EXPECT_THAT(ratio.message(), HasSubstr("client_options::compression_ratio")) << name;
        EXPECT_THAT(ratio.message(), HasSubstr("GET http://127.0.0.1:")) << name;
        EXPECT_NE(http::info_of(ratio), nullptr) << name;
        o.compression_ratio = 1'000'000;
        o.response_limit = 1'000'000;
        const error size = failure(script().read_head().respond(bomb, field).close(), o);
        EXPECT_THAT(size.message(), HasSubstr("client_options::response_limit")) << name;
        o.response_limit = 0;
        o.body_limit = 1'000'000;
        const error whole = failure(script().read_head().respond(bomb, field).close(), o);
        EXPECT_THAT(whole.message(), HasSubstr("client_options::body_limit")) << name;
    }
}

TEST_F(hostile_servers, that_redirect_for_ever_meet_redirects) {
    const scripted_peer peer(
        script()
            .read_head()
            .send("HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
            .again());
    http::client client;
    const error e = failure_of(client.get(peer.url()).follow(http::follow::standard, 7));
    EXPECT_EQ(e, errc::limit_exceeded);
    EXPECT_THAT(e.message(), HasSubstr("client_options::redirects"));
    EXPECT_EQ(client.statistics().redirects, 7U);
}

TEST_F(hostile_servers, that_drip_the_body_of_a_redirect_do_not_hold_it_up) {
    const scripted_peer peer({script()
                                  .read_head()
                                  .send("HTTP/1.1 302 Found\r\nLocation: /next\r\n"
                                        "Content-Length: 100\r\n\r\n")
                                  .stall(),
                              script().read_head().respond("next")});
    http::client client;
    const auto r = client.get(peer.url()).follow(http::follow::standard).timeout(30s).wait();
    EXPECT_EQ(r.body, "next");
    EXPECT_LT(r.info.times.ended, 10s);
}

TEST_F(hostile_servers, that_say_nothing_meet_first_byte_timeout) {
    http::client_options o;
    o.first_byte_timeout = 50ms;
    const error silent = failure(script().read_head().stall(), o);
    EXPECT_EQ(silent, std::errc::timed_out);
    EXPECT_EQ(silent.phase(), phase::first_byte);
    // Neither interim responses nor a dripping head prolong it.
    const error interim =
        failure(script().read_head().send("HTTP/1.1 102 Processing\r\n\r\n").stall(), o);
    EXPECT_EQ(interim, std::errc::timed_out);
    const std::string head = "HTTP/1.1 200 OK\r\nX-A: " + std::string(1000, 'a');
    const error drip = failure(script().read_head().send_slowly(head, 1, 5ms), o);
    EXPECT_EQ(drip, std::errc::timed_out);
}

TEST_F(hostile_servers, that_stop_amid_the_body_meet_idle_timeout) {
    http::client_options o;
    o.idle_timeout = 50ms;
    const error e = failure(script().read_head().respond_claiming(100, "some").stall(), o);
    EXPECT_EQ(e, std::errc::timed_out);
    EXPECT_THAT(e.message(), HasSubstr("idle_timeout"));
    EXPECT_EQ(e.phase(), phase::receive);
}

TEST_F(hostile_servers, that_take_no_request_meet_idle_timeout) {
    http::client_options o;
    o.idle_timeout = 50ms;
    const scripted_peer peer(script().read_head().stall());
    http::client client(o);
    const error e = failure_of(client.put(peer.url()).body(std::string(40'000'000, 'b')));
    EXPECT_EQ(e, std::errc::timed_out);
    EXPECT_EQ(e.phase(), phase::send);
}

TEST_F(hostile_servers, that_drip_meet_total_timeout_and_low_speed_limit) {
    const auto drip = [] {
        return script().read_head().send_slowly(
            "HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n" + std::string(10'000, 'a'), 40,
            10ms);
    };
    http::client_options o;
    o.total_timeout = 100ms;
    const error total = failure(drip(), o);
    EXPECT_EQ(total, std::errc::timed_out);
    EXPECT_THAT(total.message(), HasSubstr("total_timeout"));
    http::client_options slow;
    slow.low_speed_limit = 1'000'000;
    slow.low_speed_time = 100ms;
    const error speed = failure(drip(), slow);
    EXPECT_EQ(speed, errc::too_slow);
    EXPECT_THAT(speed.message(), HasSubstr("low_speed_limit"));
    const error stalled = failure(script().read_head().respond_claiming(100, "some").stall(), slow);
    EXPECT_EQ(stalled, errc::too_slow);
    http::client_options enough;
    enough.low_speed_limit = 1;
    enough.low_speed_time = 3s;
    const scripted_peer peer(
        script().read_head().respond_claiming(9, "some").pause(3100ms).send("thing").close());
    http::client client(enough);
    EXPECT_EQ(client.get(peer.url()).wait().body, "something");
}

TEST_F(hostile_servers, that_drip_tls_meet_tls_timeout) {
    // The head of a ServerHello that goes on for ever.
    const scripted_peer peer(
        script().read_exactly(5).send_slowly("\x16\x03\x03\x40" + std::string(1000, '\0'), 1, 5ms));
    http::client_options o;
    o.tls_timeout = 100ms;
    o.insecure = true;
    http::client client(o);
    const std::string url = "https://127.0.0.1:" + std::to_string(peer.port()) + "/";
    const error e = failure_of(client.get(url));
    EXPECT_EQ(e, std::errc::timed_out) << e;
    EXPECT_EQ(e.phase(), phase::tls);
    http::client_options whole;
    whole.connect_timeout = 100ms;
    whole.insecure = true;
    const error c = failure_of(client.get(url).options(whole));
    EXPECT_EQ(c, std::errc::timed_out) << c;
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST_F(hostile_servers, over_tls_that_drip_the_body_meet_idle_timeout) {
    scripted_peer_options po;
    po.self_signed = true;
    const scripted_peer peer(script().read_head().respond_claiming(50, "some").stall(), po);
    http::client_options o;
    o.idle_timeout = 100ms;
    o.insecure = true;
    http::client client(o);
    EXPECT_EQ(failure_of(client.get(peer.url())), std::errc::timed_out);
    // Without close_notify the end may be an attacker's.
    const scripted_peer cut(script().read_head().send("HTTP/1.1 200 OK\r\n\r\nhalf of").cut(), po);
    EXPECT_TRUE(failure_of(client.get(cut.url())).code());
}

TEST_F(hostile_servers, do_not_get_to_set_cookies_for_others) {
    const scripted_peer peer({script().read_head().respond("",
                                                           "Set-Cookie: a=1; Domain=com\r\n"
                                                           "Set-Cookie: b=2; Domain=example.com\r\n"
                                                           "Set-Cookie: c=3; Domain=0.0.1\r\n"
                                                           "Set-Cookie: __Host-d=4; Path=/\r\n"
                                                           "Set-Cookie: e=5; Secure\r\n"
                                                           "Set-Cookie: good=6\r\n"),
                              script().read_head().respond("")});
    http::client_options o;
    o.cookies = true;
    http::client client(o);
    static_cast<void>(client.get(peer.url()).wait());
    static_cast<void>(client.get(peer.url("/a")).header("Connection", "close").wait());
    const std::size_t last = peer.connections() - 1;
    EXPECT_THAT(peer.record(last).received, HasSubstr("GET /a HTTP/1.1\r\n"));
    EXPECT_THAT(peer.record(last).received, HasSubstr("\r\nCookie: good=6\r\n"));
}

TEST_F(hostile_servers, that_refuse_the_connection_are_named) {
    std::string url;
    {
        const scripted_peer gone(script().read_head());
        url = gone.url();
    }
    http::client client;
    const error e = failure_of(client.get(url));
    EXPECT_EQ(e, std::errc::connection_refused);
    EXPECT_EQ(e.phase(), phase::connect);
    EXPECT_TRUE(e.safe_to_retry());
    EXPECT_EQ(client.statistics().connections, 0U);
}

}  // namespace
}  // namespace coracle::testing
