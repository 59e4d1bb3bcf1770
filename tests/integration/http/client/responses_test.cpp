// The client's view of good responses.

#include "support/client_calls.hpp"
#include "support/codings.hpp"
#include "support/each_version.hpp"
#include "support/temporary_directory.hpp"

#include <coracle/http/compress.hpp>
#include <coracle/http/h1/parse_error.hpp>
#include <coracle/runtime/channel.hpp>
#include <coracle/runtime/runtime.hpp>
#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/testing/local_server.hpp>
#include <coracle/testing/scripted_peer.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <sstream>
#include <thread>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string content_of(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    all << in.rdbuf();
    return all.str();
}

std::string long_text() {
    std::string text;
    while (text.size() < 1'000'000) text += "line " + std::to_string(text.size()) + " of it\n";
    return text;
}

class client_responses : public each_version {};

TEST(client_texts, get_no_memory_for_bytes_that_were_only_announced) {
    const scripted_peer peer(
        script()
            .read_head()
            .send("HTTP/1.1 200 OK\r\nContent-Length: 4611686018427387904\r\n\r\nabc")
            .close());
    http::client client;
    block_on([&]() -> task<> {
        auto r = co_await client.get(peer.url());
        const auto got = co_await as_result(r.text(SIZE_MAX));
        EXPECT_FALSE(got);
        EXPECT_EQ(got.error(), errc::end_of_stream) << got.error();
    });
}

TEST_P(client_responses, are_read_by_one_task_at_a_time) {
    std::atomic<bool> refused = false;
    const local_server server([&](http::request&) {
        return http::stream([&](http::body_writer& out) -> task<> {
            co_await out.write("ab");
            while (!refused) co_await sleep_for(1ms);
            co_await out.write("cd");
        });
    });
    http::client client(options());
    block_on([&]() -> task<> {
        auto r = co_await client.get(server.url());
        EXPECT_EQ(co_await r.read(), "ab");
        std::string rest;
        const auto first = [&]() -> task<> { rest = co_await r.read(); };
        const auto second = [&]() -> task<> {
            const auto got = co_await as_result(r.read());
            EXPECT_TRUE(!got && got.error() == std::errc::operation_in_progress);
            refused = true;
        };
        co_await when_all(first(), second());
        EXPECT_EQ(rest, "cd");
        EXPECT_EQ(co_await r.read(), "");
    });
}
TEST_P(client_responses, may_end_while_their_reader_has_used_up_its_share) {
    channel<bool> goes_on(1);
    const local_server server([&](http::request&) {
        return http::stream([&](http::body_writer& out) -> task<> {
            co_await out.write("x");
            static_cast<void>(co_await goes_on.receive());
        });
    });
    http::client client(options());
    block_on([&]() -> task<> {
        auto r = co_await client.get(server.url()).timeout(10s);
        EXPECT_EQ(co_await r.read(), "x");
        co_await yield();
        EXPECT_TRUE(goes_on.try_send(true));
        // Holds the loop up until the end is in its socket, and has not been seen.
        while (server.counters().in_flight != 0) std::this_thread::yield();
        loop& here = *loop::current();
        here.refill_inline_budget();
        unsigned share = 0;
        while (here.may_complete_inline()) ++share;
        here.refill_inline_budget();
        while (--share != 0) static_cast<void>(here.may_complete_inline());
        // One is left, which the read takes: its wait begins in a later turn.
        EXPECT_EQ(co_await r.read(), "");
    });
}

/// Responses with bytes that a test gives.
class client_responses_1_1 : public ::testing::Test {};

TEST_F(client_responses_1_1, may_be_empty_whatever_they_are_encoded_with) {
    for (const std::string name : {"gzip", "deflate", "br", "zstd", "gzip, br"}) {
        for (const char* rest :
             {"Content-Length: 0\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "\r\n"}) {
            SCOPED_TRACE(name + ": " + rest);
            const scripted_peer peer(script().read_head().send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: " + name + "\r\n" + rest));
            http::client client;
            const auto r = client.get(peer.url()).wait();
            EXPECT_EQ(r.status, http::status::ok);
            EXPECT_EQ(r.body, "");
        }
    }
}

TEST_F(client_responses_1_1, of_old_servers_are_accepted_where_that_is_asked_for) {
    const std::pair<const char*, std::vector<std::string>> rows[] = {
        {"bare LF", {"HTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\nok"}},
        {"bare LF in pieces", {"HTTP/1.1 200 OK\nX-A", ": b\nContent-Length:", " 2\n", "\no", "k"}},
        {"blanks before colons", {"HTTP/1.1 200 OK\r\nX-A : b\r\nContent-Length\t: 2\r\n\r\nok"}},
        {"folds between", {"HTTP/1.1 200 OK\nX-A:\n b\nContent-Length: 2\n\nok"}},
        {"identity",
         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: identity\r\nX-A: b\r\nContent-Length: "
          "2\r\n\r\nok"}},
        {"identity of HTTP/1.0",
         {"HTTP/1.0 200 OK\r\nTransfer-Encoding: identity\r\nX-A: b\r\n\r\nok"}},
        {"blanks behind a size",
         {"HTTP/1.1 200 OK\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n2  \r\nok\r\n0 "
          "\r\n\r\n"}},
        {"chunks with bare LF",
         {"HTTP/1.1 200 OK\nX-A: b\nTransfer-Encoding: chunked\n\n2\nok\n0\n\n"}},
        {"an interim response",
         {"HTTP/1.1 103 Early\nLink: </a>\n\nHTTP/1.1 200 OK\nX-A: b\nContent-Length: 2\n\nok"}},
    };
    for (const auto& [name, pieces] : rows) {
        SCOPED_TRACE(name);
        const auto server = [&] {
            script s;
            s.read_head();
            for (const std::string& piece : pieces) s.send(piece);
            return s;
        };
        const scripted_peer strict(server());
        http::client client;
        EXPECT_TRUE(failure_of(client.get(strict.url())).code());
        const scripted_peer old(server());
        http::client_options o;
        o.lenient = true;
        const auto r = client.get(old.url()).options(o).wait();
        EXPECT_EQ(r.header("X-A"), "b");
        EXPECT_EQ(r.body, "ok");
    }
}

TEST_F(client_responses_1_1, are_refused_for_other_faults_by_who_is_lenient_too) {
    http::client_options o;
    o.lenient = true;
    http::client client(o);
    for (const char* head :
         {"HTTP/1.1 200 OK\nno colon\n\n", "HTTP/1.1 2 OK\n\n", "HTTP/1.1 200 OK\n: b\n\n",
          "HTTP/1.1 200 OK\nContent-Length: 1\nContent-Length: 2\n\n",
          "HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\n",
          "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nContent-Length: 2\n\n"}) {
        const scripted_peer peer(script().read_head().send(head));
        EXPECT_EQ(failure_of(client.get(peer.url())).code().category(),
                  http::h1::parse_error_category())
            << head;
    }
    // A head without an end is bounded as any other.
    const scripted_peer endless(
        script().read_head().send("HTTP/1.1 200 OK\nX: " + std::string(100'000, 'a')));
    EXPECT_TRUE(failure_of(client.get(endless.url())).code());
}

TEST_F(client_responses_1_1, may_say_their_length_twice) {
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n"
                                       "Content-Length: 2, 2\r\n\r\nok")
                                 .again());
    http::client client;
    EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
    EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
    EXPECT_EQ(client.statistics().opened, 1U);
}

TEST_F(client_responses_1_1, with_folded_fields_are_read_with_spaces_in_place_of_the_folds) {
    // Also where the fold is cut off from what it folds.
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 200 OK\r\nX-A: one\r\n")
                                 .send("\t two\r\n")
                                 .send(" three\r\nContent-Length:\r\n 2\r\n\r\nok")
                                 .again());
    http::client client;
    const auto r = client.get(peer.url()).wait();
    EXPECT_EQ(r.header("X-A"), "one    two   three");
    EXPECT_EQ(r.body, "ok");
    EXPECT_EQ(client.get(peer.url()).wait().body, "ok");
    EXPECT_EQ(client.statistics().opened, 1U);
    // A fold of nothing says nothing.
    const scripted_peer bad(script().read_head().send("HTTP/1.1 200 OK\r\n X-A: one\r\n\r\n"));
    EXPECT_TRUE(failure_of(client.get(bad.url())).code());
}

TEST_F(client_responses_1_1, have_as_many_fields_as_the_limit_says) {
    const local_server server([](http::request& req) {
        http::response r("x");
        const int more = req.query<int>("more");
        for (int i = 0; i != more; ++i) r.fields().add("X-" + std::to_string(i), "1");
        return r;
    });
    http::client client;
    const auto own = client.get(server.url("/?more=0")).wait().fields.size();
    const auto with = [&](std::size_t fields, std::string_view options) {
        return client.get(server.url("/?more=" + std::to_string(fields - own))).options(options);
    };
    EXPECT_EQ(with(100, "").wait().fields.size(), 100U);
    const error e = failure_of(with(101, ""));
    EXPECT_EQ(e, errc::limit_exceeded);
    EXPECT_THAT(e.message(), HasSubstr("client_options::field_limit"));
    EXPECT_EQ(with(200, "field_limit=200").wait().fields.size(), 200U);
    EXPECT_EQ(failure_of(with(200, "field_limit=199")), errc::limit_exceeded);
}

TEST_P(client_responses, have_a_status_fields_and_a_body) {
    const local_server server([](http::request&) {
        return http::response(http::status::not_found, "none").set("X-A", "1");
    });
    http::client client(options());
    const auto r = client.get(server.url("/x")).wait();
    EXPECT_EQ(r.status, http::status::not_found);
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.header("x-a"), "1");
    EXPECT_EQ(r.body, "none");
    EXPECT_EQ(r.info.url.text(), server.url("/x"));
    EXPECT_EQ(r.info.peer, server.addresses().front());
    EXPECT_EQ(r.info.attempts, 1U);
    EXPECT_FALSE(r.info.reused);
    EXPECT_GT(r.info.bytes_sent, 50U);
    EXPECT_GT(r.info.bytes_received, 4U);
    const auto& t = r.info.times;
    EXPECT_LE(t.connected, t.sent);
    EXPECT_LE(t.sent, t.first_byte);
    EXPECT_LE(t.first_byte, t.ended);
    EXPECT_GT(t.ended, 0s);
}

TEST_P(client_responses, to_head_and_without_content_leave_the_connection_open) {
    const local_server server([](http::request& req) {
        if (req.path() == "/204") return http::response(http::status::no_content);
        if (req.path() == "/304") return http::response(http::status::not_modified);
        return http::response("some text");
    });
    http::client client(options());
    const auto head = client.head(server.url()).wait();
    EXPECT_EQ(head.body, "");
    EXPECT_EQ(head.header("Content-Length"), "9");
    EXPECT_EQ(client.get(server.url("/204")).wait().body, "");
    EXPECT_EQ(client.get(server.url("/304")).wait().body, "");
    EXPECT_EQ(client.get(server.url()).wait().body, "some text");
    EXPECT_EQ(client.statistics().opened, 1U);
    EXPECT_EQ(client.statistics().reused, 3U);
}

TEST_P(client_responses, may_be_chunked_with_trailers) {
    const local_server server([](http::request& req) {
        if (req.path() == "/plain") return http::response(long_text());
        return http::stream([](http::body_writer& out) -> task<> {
                   co_await out.write("one ");
                   co_await out.write("two");
                   out.set_trailer("X-Sum", "7");
               })
            .set("Trailer", "X-Sum");
    });
    http::client client(options());
    const auto r = client.get(server.url()).wait();
    EXPECT_EQ(r.body, "one two");
    EXPECT_EQ(r.trailers.get("X-Sum"), "7");
    EXPECT_TRUE(client.get(server.url()).wait().info.reused);
    // None is left of a response before.
    block_on([&]() -> task<> {
        auto before = co_await client.get(server.url());
        EXPECT_EQ(co_await before.text(), "one two");
        EXPECT_EQ(before.trailers().size(), 1U);
        auto plain = co_await client.get(server.url("/plain"));
        EXPECT_TRUE(co_await plain.text() == long_text());
        EXPECT_EQ(plain.trailers().size(), 0U);
        EXPECT_TRUE(plain.info()->reused);
    });
}

TEST_F(client_responses_1_1, of_http_1_0_end_with_the_connection) {
    const scripted_peer peer(script().read_head().send("HTTP/1.0 200 OK\r\n\r\nall of it").close());
    http::client client;
    const auto r = client.get(peer.url()).wait();
    EXPECT_EQ(r.body, "all of it");
    EXPECT_EQ(r.info.version, http::version::http_1_0);
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST_F(client_responses_1_1, switch_to_a_protocol_that_was_asked_for_alone) {
    const struct {
        const char* response;
        bool switched;
    } rows[] = {
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: FOO\r\n\r\n", true},
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\nUpgrade: bar\r\n\r\n", false},
        {"HTTP/1.1 101 X\r\nConnection: Upgrade\r\n\r\n", false},
        {"HTTP/1.0 101 X\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n", false},
    };
    for (const auto& row : rows) {
        const scripted_peer server({script().read_head().send(row.response).read_to_end()});
        http::client client;
        block_on([&]() -> task<> {
            auto calling = client.get(server.url()).upgrade("foo");
            auto came = co_await as_result(std::move(calling));
            EXPECT_EQ(came.has_value(), row.switched) << row.response;
            if (!came) {
                EXPECT_EQ(came.error(), errc::protocol_error) << came.error();
            }
        });
    }
}

TEST_F(client_responses_1_1, skip_interim_ones) {
    const scripted_peer peer(script()
                                 .read_head()
                                 .send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
                                       "HTTP/1.1 102 Processing\r\n\r\n")
                                 .respond("final"));
    http::client client;
    EXPECT_EQ(client.get(peer.url()).wait().body, "final");
}

TEST_P(client_responses, are_decoded) {
    const std::string text = long_text();
    using http::content_coding;
    for (const char* name : {"gzip", "deflate", "br", "zstd"}) {
        const std::string coded = encoded(*http::find_content_coding(name), text);
        const std::string coded_small = encoded(*http::find_content_coding(name), "tiny");
        const local_server server([&](http::request& req) {
            return http::response(req.path() == "/tiny" ? coded_small : coded)
                .set("Content-Encoding", name);
        });
        http::client client(options());
        EXPECT_TRUE(client.get(server.url()).wait().body == text) << name;
        EXPECT_EQ(client.get(server.url("/tiny")).wait().body, "tiny") << name;
        EXPECT_EQ(client.head(server.url()).wait().body, "");
        http::client_options raw = options();
        raw.accept_compression = false;
        EXPECT_TRUE(client.get(server.url()).options(raw).wait().body == coded) << name;
        EXPECT_EQ(client.statistics().opened, 1U) << name;
    }
}

TEST_P(client_responses, that_are_decoded_do_not_say_that_they_are_coded) {
    using http::content_coding;
    const std::string coded = encoded(content_coding::gzip, "text");
    const local_server server([&](http::request& req) {
        const bool part = req.path() == "/part";
        return http::response(part ? http::status::partial_content : http::status::ok, coded)
            .set("Content-Encoding", req.path() == "/unknown" ? "gzip, mine" : "gzip")
            .set("Content-Digest", "sha-256=:x:");
    });
    http::client client(options());
    const auto decoded = client.get(server.url()).wait();
    EXPECT_EQ(decoded.body, "text");
    EXPECT_FALSE(decoded.fields.contains("Content-Encoding"));
    EXPECT_FALSE(decoded.fields.contains("Content-Length"));
    EXPECT_FALSE(decoded.fields.contains("Content-Digest")) << "of the bytes as they came";
    EXPECT_TRUE(decoded.info.is_decoded());
    EXPECT_THAT(decoded.info.decoded, ElementsAre(content_coding::gzip, content_coding::identity));
    for (const char* path : {"/part", "/unknown"}) {
        const auto as_it_came = client.get(server.url(path)).wait();
        EXPECT_TRUE(as_it_came.body == coded) << path;
        EXPECT_TRUE(as_it_came.fields.contains("Content-Encoding")) << path;
        EXPECT_TRUE(as_it_came.fields.contains("Content-Length")) << path;
        EXPECT_TRUE(as_it_came.fields.contains("Content-Digest")) << path;
        EXPECT_FALSE(as_it_came.info.is_decoded()) << path;
    }
    EXPECT_EQ(client.head(server.url()).wait().header("Content-Encoding"), "gzip");
}

TEST_P(client_responses, cut_in_their_coding_are_errors) {
    const std::string coded = encoded(http::content_coding::gzip, long_text());
    const local_server server([&](http::request& req) {
        const std::size_t size = req.path() == "/cut" ? coded.size() - 9 : 0;
        return http::response(coded.substr(0, size) + (size == 0 ? "no gzip" : ""))
            .set("Content-Encoding", "gzip");
    });
    http::client client(options());
    EXPECT_TRUE(failure_of(client.get(server.url("/cut"))).code());
    EXPECT_TRUE(failure_of(client.get(server.url("/none"))).code());
}

TEST_P(client_responses, are_read_in_every_way) {
    const std::string text = long_text();
    const local_server server([&](http::request&) { return http::response(text); });
    http::client client(options());
    block_on([&]() -> task<> {
        auto whole = co_await client.get(server.url());
        EXPECT_EQ(whole.length(), text.size());
        EXPECT_TRUE(co_await whole.text() == text);
        EXPECT_EQ(co_await whole.text(), "");
        auto bytes = co_await client.get(server.url());
        EXPECT_EQ((co_await bytes.bytes()).size(), text.size());
        auto pieces = co_await client.get(server.url());
        std::string all;
        for (;;) {
            const std::string_view piece = co_await pieces.read();
            if (piece.empty()) break;
            all += piece;
        }
        EXPECT_TRUE(all == text);
        EXPECT_EQ(co_await pieces.read(), "");
    });
}

TEST_P(client_responses, keep_their_body_when_their_fields_are_replaced) {
    const std::string text(300, 'b');
    const local_server server([&](http::request&) { return http::response(text); });
    http::client client(options());
    // Overwrites the memory in which the fields were.
    const std::string other(800, 'x');
    block_on([&]() -> task<> {
        auto replaced = co_await client.get(server.url());
        replaced.fields() = http::fields();
        replaced.set("X-Other", other);
        EXPECT_EQ(co_await replaced.text(), text);
        auto cleared = co_await client.get(server.url());
        cleared.fields().clear();
        cleared.set("X-Other", other);
        EXPECT_EQ(co_await cleared.read(), text);
    });
}

TEST_P(client_responses, are_read_line_by_line) {
    const local_server server([](http::request& req) {
        auto lines = [](http::body_writer& out) -> task<> {
            for (const std::string_view piece : {"one\r\ntw", "o\n", "\nlast"}) {
                co_await out.write(piece);
            }
        };
        if (req.path() == "/long") return http::response("0123456789\n");
        return http::stream(lines, "text/plain");
    });
    http::client client(options());
    block_on([&]() -> task<> {
        auto r = co_await client.get(server.url());
        EXPECT_EQ(r.header("content-type"), "text/plain");
        auto lines = r.lines();
        std::string all;
        while (auto line = co_await lines.next()) all.append(*line).append(1, '|');
        EXPECT_EQ(all, "one|two||last|");
        auto tight = co_await client.get(server.url("/long"));
        auto ten = tight.lines(10);
        EXPECT_EQ(co_await ten.next(), "0123456789");
        auto wide = co_await client.get(server.url("/long"));
        auto nine = wide.lines(9);
        auto too_long = co_await as_result(nine.next());
        EXPECT_TRUE(!too_long && too_long.error() == errc::limit_exceeded);
    });
}

TEST_P(client_responses, are_read_event_by_event) {
    const local_server server([](http::request&) {
        return http::stream(
            [](http::body_writer& out) -> task<> {
                for (const std::string_view piece :
                     {"id: 7\nevent: tick\nda", "ta: one\ndata: two\n\n",
                      ": comment\n\ndata: x\n\n", "data: no end"}) {
                    co_await out.write(piece);
                }
            },
            "text/event-stream");
    });
    http::client client(options());
    block_on([&]() -> task<> {
        auto r = co_await client.get(server.url());
        auto events = r.events();
        const auto first = co_await events.next();
        EXPECT_EQ(first, (http::received_event{"tick", "one\ntwo", "7"}));
        const auto second = co_await events.next();
        EXPECT_EQ(second, (http::received_event{"message", "x", "7"}));
        EXPECT_EQ(co_await events.next(), std::nullopt);
        auto again = co_await client.get(server.url());
        auto narrow = again.events({.line = 1024, .data = 3});
        auto too_long = co_await as_result(narrow.next());
        EXPECT_TRUE(!too_long && too_long.error() == errc::limit_exceeded);
        if (!too_long) {
            EXPECT_EQ(too_long.error().subject(), "event_limits::data");
        }
    });
}

TEST_F(client_responses_1_1, are_saved_at_once_or_not_at_all) {
    const std::string text = long_text();
    const local_server server([&](http::request&) { return http::response(text); });
    const scripted_peer cut(
        script().read_head().respond_claiming(100'000, std::string(50'000, 'x')).close());
    const temporary_directory folder;
    const auto path = folder.write("page", "old");
    http::client client;
    block_on([&]() -> task<> {
        auto bad = co_await client.get(cut.url());
        auto saving = bad.save_to(path);
        EXPECT_EQ((co_await as_result(saving)).error(), errc::end_of_stream);
        EXPECT_EQ(content_of(path), "old");
        auto good = co_await client.get(server.url());
        EXPECT_EQ(co_await good.save_to(path), text.size());
    });
    EXPECT_TRUE(content_of(path) == text);
    std::size_t files = 0;
    for ([[maybe_unused]] const auto& f : std::filesystem::directory_iterator(folder.path())) {
        ++files;
    }
    EXPECT_EQ(files, 1U);
}

TEST_P(client_responses, dropped_unread_close_their_connection_or_stream) {
    const std::string text = long_text();
    const local_server server([&](http::request&) { return http::response(text); });
    http::client client(options());
    block_on([&]() -> task<> {
        {
            auto dropped = co_await client.get(server.url());
            EXPECT_EQ(client.statistics().connections, 1U);
        }
        // Over HTTP/2 it is only the stream.
        EXPECT_EQ(client.statistics().connections, over_http_2() ? 1U : 0U);
        auto next = co_await client.get(server.url());
        EXPECT_EQ(next.info()->reused, over_http_2());
        EXPECT_TRUE(co_await next.text() == text);
    });
}

TEST_P(client_responses, outlive_their_client) {
    const std::string text = long_text();
    const local_server server([&](http::request&) { return http::response(text); });
    block_on([&]() -> task<> {
        http::response r;
        {
            http::client client(options());
            r = co_await client.get(server.url());
        }
        EXPECT_TRUE(co_await r.text() == text);
    });
}

TEST_P(client_responses, outlive_their_loop_without_what_has_not_come) {
    const std::string text = long_text();
    const local_server server([&](http::request& req) {
        return http::response(req.path() == "/small" ? "small" : text);
    });
    http::client client(options());
    http::response small;
    http::response large;
    block_on([&]() -> task<> {
        small = co_await client.get(server.url("/small"));
        large = co_await client.get(server.url());
    });
    EXPECT_EQ(block_on([&] { return small.text(); }), "small");
    const auto read = [&]() -> task<std::error_code> {
        auto reading = large.text();
        auto rest = co_await as_result(reading);
        co_return rest ? std::error_code() : rest.error().code();
    };
    EXPECT_EQ(block_on(read), make_error_code(errc::shutting_down));
    EXPECT_EQ(block_on(read), make_error_code(errc::shutting_down));
    EXPECT_EQ(client.statistics().connections, 0U);
}

TEST_F(client_responses_1_1, come_in_blocks_that_grow_to_the_size_that_is_allowed) {
    const scripted_peer peer(script().read_head().respond(std::string(8'000'000, 'x')).again());
    for (const std::size_t most : {16'384U, 65'536U, 262'144U}) {
        http::client_options o;
        o.receive_block = most;
        http::client client(o);
        std::size_t largest = 0;
        block_on([&]() -> task<> {
            auto r = co_await client.get(peer.url());
            for (;;) {
                const std::string_view piece = co_await r.read();
                if (piece.empty()) break;
                largest = std::max(largest, piece.size());
            }
        });
        EXPECT_LE(largest, most);
        EXPECT_GT(largest, most / 2);
    }
}

TEST_P(client_responses, that_came_fast_and_stall_are_given_as_far_as_they_are_there) {
    constexpr std::size_t fast = 16 * 1024 * 1024;
    constexpr std::size_t few = 1000;
    channel<bool> goes_on(1);
    const auto body = [&goes_on](http::body_writer& out) -> task<> {
        for (const std::size_t part : {fast, few, fast}) {
            co_await out.write(std::string(part, 'x'));
            static_cast<void>(co_await goes_on.receive());
        }
    };
    const local_server server([&](http::request& req) {
        if (req.path() == "/small") return http::response("small");
        const bool known = req.path() == "/known";
        const auto size = known ? std::optional<std::uint64_t>(2 * fast + few) : std::nullopt;
        http::response r;
        r.set_body(http::body::stream(body, size));
        return r;
    });
    http::client client(options());
    for (const char* const path : {"/known", "/chunked"}) {
        block_on([&]() -> task<> {
            auto response = co_await client.get(server.url(path)).timeout(20s);
            std::size_t size = 0;
            for (const std::size_t until : {fast, fast + few, 2 * fast + few}) {
                while (size < until) {
                    const std::string_view piece = co_await response.read();
                    if (piece.empty()) break;
                    size += piece.size();
                }
                EXPECT_EQ(size, until) << path;
                co_await goes_on.send(true);
            }
            const auto end = co_await response.read();
            EXPECT_TRUE(end.empty());
            // The connection waits for single bytes again.
            const auto next = co_await client.get(server.url("/small")).timeout(20s).full();
            EXPECT_EQ(next.body, "small");
            EXPECT_TRUE(next.info.reused);
        });
    }
}

TEST_P(client_responses, have_cookies_that_are_sent_back) {
    const local_server server([](http::request& req) {
        http::response r(std::string(req.header("Cookie")));
        if (req.path() == "/set") {
            r.fields().add("Set-Cookie", "flavour=oat; Path=/");
            r.fields().add("Set-Cookie", "other=site; Domain=example.com");
        }
        return r;
    });
    http::client_options o = options();
    o.cookies = true;
    http::client client(o);
    EXPECT_EQ(client.get(server.url()).wait().body, "");
    EXPECT_EQ(client.get(server.url("/set")).wait().body, "");
    EXPECT_EQ(client.get(server.url()).wait().body, "flavour=oat");
    const auto own = client.get(server.url()).header("Cookie", "a=1; b=2").wait();
    EXPECT_EQ(own.body, "flavour=oat; a=1; b=2");
    http::client without;
    EXPECT_EQ(without.get(server.url("/set")).wait().body, "");
    EXPECT_EQ(without.get(server.url()).wait().body, "");
}

TEST_P(client_responses, over_tls_are_trusted_by_their_authority_only) {
    local_server_options so;
    so.self_signed = true;
    const local_server server(tell_request, so);
    const temporary_directory folder;
    http::client_options o = options();
    o.certificates.authorities = folder.write("ca.pem", server.authorities());
    http::client client(o);
    const auto r = client.get(server.url()).wait();
    EXPECT_EQ(r.status, http::status::ok);
    EXPECT_EQ(r.info.tls_version, "TLSv1.3");
    EXPECT_NE(r.info.cipher, "");
    EXPECT_GT(r.info.times.secured, 0s);
    EXPECT_TRUE(client.get(server.url()).wait().info.reused);
    http::client stranger;
    const error e = failure_of(stranger.get(server.url()));
    EXPECT_EQ(e.phase(), phase::tls) << e;
    http::client_options careless;
    careless.insecure = true;
    EXPECT_TRUE(stranger.get(server.url()).options(careless).wait().ok());
}

INSTANTIATE_TEST_SUITE_P(over, client_responses, both_versions(), version_name);

}  // namespace
}  // namespace coracle::testing
