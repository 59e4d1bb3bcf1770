#include "h2_frames.hpp"
#include "support/allocation_count.hpp"

#include <gtest/gtest.h>

#include <new>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using coracle::http::field;
using namespace std::literals;

namespace {

std::string status(std::uint32_t stream, std::string_view code, bool end = false, block more = {}) {
    block all = block().add(":status", code);
    const block both = [&] {
        block b = all;
        b.add_all(more);
        return b;
    }();
    return headers(stream, both, end);
}

TEST(h2_client_session, begins_with_the_preface_and_settings_that_refuse_push) {
    recording client(role::client);
    const std::string sent = client.take();
    ASSERT_TRUE(sent.starts_with(client_preface));
    const std::string_view rest = std::string_view(sent).substr(client_preface.size());
    EXPECT_EQ(rest.substr(3, 1), "\x04"sv);
    EXPECT_NE(rest.find(setting_entry(setting::enable_push, 0)), std::string_view::npos);
}

TEST(h2_client_session, reports_responses_interim_ones_and_trailers) {
    const auto client = greeted_client();
    client->request();
    client->receive(status(1, "103", false, block().add("link", "</a>")) + status(1, "200") +
                    data(1, "abc") + headers(1, block().add("sum", "7")));
    EXPECT_EQ(client->log, "1: 103 link=</a>\n1: 200\n1: end sum=7\n1: closed\n");
    EXPECT_EQ(client->at(1).content, "abc");
    EXPECT_EQ(client->session.streams(), 0U);
}

TEST(h2_client_session, takes_blanks_off_the_ends_of_values) {
    const auto client = greeted_client();
    client->request();
    client->request();
    // The second time it is one of the peer's table.
    const std::string policy =
        "\x40"
        "\x01p"
        "\x0d"
        "self 'none'; ";
    const std::string ok = "\x88";
    client->receive(
        frame(frame_type::headers, flag::end_headers, 1, ok + policy) +
        headers(1, block().add("sum", " 7 ").add("cache-control", "no-store")) +
        frame(frame_type::headers, flag::end_headers | flag::end_stream, 3, ok + "\xbe"));
    EXPECT_EQ(client->log,
              "1: 200 p=self 'none';\n1: end sum=7\n1: closed\n"
              "3: 200 p=self 'none'; end\n3: end\n3: closed\n");
}

TEST(h2_client_session, takes_nothing_behind_a_successful_connect_for_content) {
    for (const char* length : {"0", "1", "100"}) {
        const auto client = greeted_client();
        client->request("CONNECT", false);
        client->receive(status(1, "200", false, block().add("content-length", length)) +
                        data(1, "abc") + data(1, "", true));
        EXPECT_EQ(client->at(1).content, "abc");
        EXPECT_EQ(client->log.find("failed"), std::string::npos) << client->log;
        client->request("CONNECT", false);
        client->receive(status(3, "403", false, block().add("content-length", "1")) +
                        data(3, "ab"));
        EXPECT_NE(client->log.find("3: failed"), std::string::npos) << client->log;
    }
}

TEST(h2_client_session, tells_what_was_sent_in_a_batch_though_it_was_trimmed_meanwhile) {
    const auto client = greeted_client();
    recorded_stream& s = client->request("POST", false);
    const std::string_view pieces[] = {"content"};
    ASSERT_TRUE(client->session.send_data(s, pieces, false));
    std::vector<std::string_view> views;
    client->session.gather(1 << 20, views);
    client->receive(rst(1, error_code::no_error));
    client->session.trim();
    EXPECT_EQ(client->log.find("sent"), std::string::npos) << client->log;
    client->session.written();
    EXPECT_NE(client->log.find("1: sent\n"), std::string::npos) << client->log;
}

TEST(h2_client_session, tells_nobody_of_a_stream_that_found_no_memory) {
    if (!coracle::testing::counts_allocations()) GTEST_SKIP() << "not counted in this build";
    for (std::size_t n = 1;; ++n) {
        const auto client = greeted_client();
        const auto server = greeted_server();
        recorded_stream lost;
        const field control[] = {
            {":method", "GET"}, {":scheme", "http"}, {":path", "/lost"}, {":authority", "a"}};
        bool failed = false;
        coracle::testing::fail_allocation(n);
        try {
            failed = !client->session.open(lost, control, {}, true);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        const bool none_failed = coracle::testing::allocation_will_fail();
        coracle::testing::fail_allocation(0);
        if (failed) client->session.reset(lost, error_code::cancel);
        client->request("GET", true, "/last");
        server->receive(client->take());
        ASSERT_FALSE(server->session.failure().has_value()) << n;
        EXPECT_NE(server->log.find("GET /last end"), std::string::npos) << server->log;
        EXPECT_EQ(client->session.streams(), failed ? 1U : 2U);
        if (none_failed) break;
    }
}

TEST(h2_client_session, refuses_malformed_responses) {
    const std::pair<const char*, std::string> rows[] = {
        {"no status", headers(1, block().add("x", "y"))},
        {"two statuses", headers(1, block().add(":status", "200").add(":status", "200"))},
        {"a status of two digits", status(1, "20", true)},
        {"a status that is no number", status(1, "2x0", true)},
        {"101", status(1, "101")},
        {"99", status(1, "099", true)},
        {"an interim response that ends", status(1, "103", true)},
        {"a pseudo-field of requests", headers(1, block().add(":status", "200").add(":path", "/"))},
        {"data before a head", data(1, "x")},
        {"data between heads", status(1, "103") + data(1, "x")},
        {"more than announced",
         status(1, "200", false, block().add("content-length", "1")) + data(1, "ab")},
        {"less than announced", status(1, "200", true, block().add("content-length", "1"))},
        {"two lengths",
         status(1, "200", false, block().add("content-length", "1").add("content-length", "2"))},
        {"transfer-encoding", status(1, "200", true, block().add("transfer-encoding", "chunked"))},
    };
    for (const auto& [name, bytes] : rows) {
        SCOPED_TRACE(name);
        const auto client = greeted_client();
        client->request();
        client->receive(bytes);
        EXPECT_NE(client->log.find("1: failed PROTOCOL_ERROR\n"), std::string::npos) << client->log;
        EXPECT_NE(client->take().find(rst(1, error_code::protocol_error)), std::string::npos);
        EXPECT_FALSE(client->session.failure().has_value());
    }
}

TEST(h2_client_session, a_response_to_head_and_a_304_may_announce_what_they_do_not_have) {
    const auto client = greeted_client();
    client->request("HEAD");
    client->request("GET");
    client->receive(status(1, "200", true, block().add("content-length", "10")) +
                    status(3, "304", true, block().add("content-length", "10")));
    EXPECT_EQ(client->log,
              "1: 200 content-length=10 end\n1: end\n1: closed\n"
              "3: 304 content-length=10 end\n3: end\n3: closed\n");
}

TEST(h2_client_session, accepts_a_length_that_is_said_again) {
    const auto client = greeted_client();
    client->request();
    client->receive(
        status(1, "200", false, block().add("content-length", "3").add("content-length", "3")) +
        data(1, "abc", true));
    EXPECT_EQ(client->log, "1: 200 content-length=3 content-length=3\n1: end\n1: closed\n");
}

TEST(h2_client_session, opens_no_more_streams_than_the_server_takes) {
    const auto client = greeted_client();
    client->receive(settings_frame(setting_entry(setting::max_concurrent_streams, 2)));
    client->request();
    client->request();
    EXPECT_FALSE(client->session.has_place());
    EXPECT_THROW(client->request(), std::runtime_error);
    EXPECT_TRUE(client->session.usable());
    client->receive(status(1, "204", true));
    EXPECT_TRUE(client->session.has_place());
    EXPECT_EQ(client->request().id(), 5U);
}

TEST(h2_client_session, a_goaway_says_which_requests_were_not_processed) {
    const auto client = greeted_client();
    for (int i = 0; i < 3; ++i) client->request();
    client->receive(frame(frame_type::goaway, 0, 0, u32(0x7fffffff) + u32(0)));
    EXPECT_EQ(client->log, "goaway 2147483647 NO_ERROR\n");
    EXPECT_FALSE(client->session.usable());
    client->log.clear();
    client->receive(frame(frame_type::goaway, 0, 0, u32(3) + u32(0) + "bye"));
    EXPECT_EQ(client->log, "5: failed REFUSED_STREAM by peer\ngoaway 3 NO_ERROR\n");
    client->log.clear();
    client->receive(status(1, "200", true) + status(3, "200", true));
    EXPECT_EQ(client->log, "1: 200 end\n1: end\n1: closed\n3: 200 end\n3: end\n3: closed\n");
}

TEST(h2_client_session,
     frames_for_a_stream_that_was_cancelled_are_dropped_and_their_window_comes_back) {
    coracle::http::h2_limits limits;
    limits.connection_window = 65535;
    const auto client = greeted_client(limits);
    client->consumes = false;
    client->request();
    client->take();
    const std::string full(16384, 'x');
    client->receive(status(1, "200") + data(1, full));
    client->session.reset(client->at(1), error_code::cancel);
    EXPECT_EQ(client->take(), rst(1, error_code::cancel));
    client->receive(data(1, full) + headers(1, block().add("x", "y")));
    EXPECT_FALSE(client->session.failure().has_value());
    EXPECT_EQ(client->take(), window_update(0, 2 * 16384));
    EXPECT_EQ(client->log, "1: 200\n");
}

TEST(h2_client_session, a_window_below_the_default_is_given_back_once_the_server_knows_it) {
    // A stream that is older than the acknowledgement began with the default, of which half would
    // never come.
    coracle::http::h2_limits limits;
    limits.stream_window = 10'000;
    for (const bool consumed_before : {true, false}) {
        const auto client = greeted_client(limits);
        client->request();
        client->take();
        client->receive(status(1, "200"));
        if (consumed_before) client->receive(data(1, std::string(6000, 'x')));
        EXPECT_EQ(client->take(), "");
        client->receive(frame(frame_type::settings, flag::ack, 0));
        EXPECT_EQ(client->take(), consumed_before ? window_update(1, 6000) : "");
        client->receive(data(1, std::string(6000, 'x')));
        EXPECT_EQ(client->take(), window_update(1, 6000));
        EXPECT_FALSE(client->session.failure().has_value());
    }
}

TEST(h2_client_session, a_server_that_begins_without_settings_is_no_server) {
    recording client(role::client);
    client.receive(frame(frame_type::settings, flag::ack, 0));
    EXPECT_TRUE(client.session.failure().has_value());
    recording other(role::client);
    other.receive("HTTP/1.1 400 Bad Request\r\n\r\n");
    EXPECT_TRUE(other.session.failure().has_value());
}

TEST(h2_client_session, a_ping_measures_and_pongs_are_reported) {
    const auto client = greeted_client();
    client->session.ping(0x0102030405060708);
    EXPECT_EQ(client->take(), frame(frame_type::ping, 0, 0, "\x01\x02\x03\x04\x05\x06\x07\x08"));
    client->receive(frame(frame_type::ping, flag::ack, 0, "\x01\x02\x03\x04\x05\x06\x07\x08"));
    EXPECT_EQ(client->log, "pong " + std::to_string(0x0102030405060708) + '\n');
}

}  // namespace
