#include "h2_sent_frames.hpp"
#include "support/allocation_count.hpp"

#include <coracle/base/detail/block_pool.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <new>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using coracle::http::field;
using namespace std::literals;

namespace {

const field ok[] = {{":status", "200"}};

TEST(h2_sending, credentials_and_cookies_go_into_no_table) {
    const auto server = server_with(2);
    const field lines[] = {
        {"set-cookie", "id=0123456789abcdef0123456789", coracle::http::field_id::set_cookie},
        {"x-plain", "0123456789abcdef0123456789", coracle::http::field_id::other}};
    std::size_t sizes[2];
    for (std::uint32_t i = 0; i != 2; ++i) {
        server->session.send_head(server->at(2 * i + 1), ok, lines, true);
        const auto frames = frames_in(server->take());
        ASSERT_EQ(frames.size(), 1u);
        const std::string& block = frames[0].payload;
        sizes[i] = block.size();
        // RFC 7541 section 6.2.3: a literal that is never indexed begins with 0001; that of
        // set-cookie, which is 55 in the static table, goes on with 1111 and 40.
        EXPECT_NE(block.find("\x1f\x28"), std::string::npos) << i;
    }
    // The plain field was remembered, the cookie not.
    EXPECT_LT(sizes[1], sizes[0]);
    EXPECT_GT(sizes[1], 20u);
}

TEST(h2_sending, credentials_are_overwritten_once_they_have_left) {
    if (CORACLE_POOLS_STAND_ASIDE) GTEST_SKIP() << "there are no pools in this build";
    recording client(role::client);
    client.take();
    struct own_stream : stream {
    } s;
    const field control[] = {
        {":method", "GET"}, {":scheme", "http"}, {":path", "/"}, {":authority", "x"}};
    // Such bytes as no code of Huffman's makes shorter stand as they are.
    const std::string token(64, '\\');
    const field lines[] = {{"authorization", token, coracle::http::field_id::authorization}};
    ASSERT_TRUE(client.session.open(s, control, lines, true));
    // More frames, so that what is made ready has to move.
    for (int i = 0; i != 100; ++i) client.session.ping(1);
    std::vector<std::string_view> views;
    client.session.gather(1 << 20, views);
    ASSERT_EQ(views.size(), 1u);
    const char* const at = views[0].data();
    const std::size_t found = views[0].find(token);
    ASSERT_NE(found, std::string_view::npos);
    client.session.written();
    // The block went back to its pool; its beginning may have been used for the list of that.
    const std::string left(at + found, token.size());
    EXPECT_EQ(left.find("\\\\"), std::string::npos);
}

TEST(h2_sending, a_message_leaves_in_one_batch_and_closes_its_stream) {
    const auto server = server_with(1);
    server->session.send_head(server->at(1), ok, {}, false);
    const std::string_view pieces[] = {"Hello, ", "World!"};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    const auto frames = frames_in(server->take());
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0].header.type, frame_type::headers);
    EXPECT_TRUE(frames[0].header.has(flag::end_headers));
    EXPECT_EQ(frames[1].payload, "Hello, World!");
    EXPECT_TRUE(frames[1].header.has(flag::end_stream));
    EXPECT_EQ(server->log, "1: sent\n1: closed\n");
    EXPECT_EQ(server->session.streams(), 0U);
}

TEST(h2_sending, pieces_that_are_large_are_not_copied) {
    const auto server = server_with(1);
    const std::string large(5000, 'x');
    const std::string_view pieces[] = {large, "small", large};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    std::vector<std::string_view> views;
    server->session.gather(1 << 20, views);
    ASSERT_EQ(views.size(), 4U);
    EXPECT_EQ(views[1].data(), large.data());
    EXPECT_EQ(views[2], "small");
    EXPECT_EQ(views[3].data(), large.data());
    EXPECT_EQ(server->log, "") << "reported before it was written";
    server->session.written();
    EXPECT_EQ(server->log, "1: sent\n1: closed\n");
}

TEST(h2_sending, content_waits_for_the_windows_of_its_stream_and_of_the_connection) {
    const auto server = server_with(2, default_window);
    const std::string content(100'000, 'x');
    const std::string_view pieces[] = {content};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    EXPECT_EQ(data_frames(server->take()), "1:16384 1:16384 1:16384 1:16383");
    EXPECT_FALSE(server->session.wants_to_write());
    // The stream has no window; the connection has none either.
    server->receive(window_update(1, 100'000));
    EXPECT_FALSE(server->session.wants_to_write());
    server->receive(window_update(0, 10));
    EXPECT_EQ(data_frames(server->take()), "1:10");
    ASSERT_TRUE(server->session.send_data(server->at(3), {}, true));
    EXPECT_EQ(data_frames(server->take()), "3:0!") << "an end needs no window";
    server->receive(window_update(0, 1 << 20));
    EXPECT_EQ(data_frames(server->take()), "1:16384 1:16384 1:1687!");
    EXPECT_EQ(server->log, "3: sent\n3: closed\n1: sent\n1: closed\n");
}

TEST(h2_sending, settings_may_take_a_window_back_below_nothing) {
    const auto server = server_with(1);
    const std::string content(100'000, 'x');
    const std::string_view pieces[] = {content};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    std::vector<std::string_view> views;
    server->session.gather(16384, views);
    server->session.written();
    server->receive(settings_frame(setting_entry(setting::initial_window_size, 100)));
    EXPECT_EQ(data_frames(server->take()), "");
    server->receive(window_update(1, 16384 - 100));
    EXPECT_EQ(data_frames(server->take()), "");
    server->receive(window_update(1, 7));
    EXPECT_EQ(data_frames(server->take()), "1:7");
    server->receive(settings_frame(setting_entry(setting::initial_window_size, 200'000)));
    EXPECT_EQ(data_frames(server->take()), "1:16384 1:16384 1:16384 1:16384 1:16384 1:" +
                                               std::to_string(100'000 - 16384 - 7 - 5 * 16384) +
                                               "!");
}

TEST(h2_sending, the_urgent_stream_goes_first_and_the_incremental_ones_by_turns) {
    const auto server = server_with(4);
    const std::string content(40'000, 'x');
    const std::string_view pieces[] = {content};
    server->session.prioritize(server->at(1), {3, false});
    server->session.prioritize(server->at(3), {1, true});
    server->session.prioritize(server->at(5), {1, true});
    server->session.prioritize(server->at(7), {0, false});
    for (const std::uint32_t id : {1U, 3U, 5U, 7U}) {
        ASSERT_TRUE(server->session.send_data(server->at(id), pieces, true));
    }
    EXPECT_EQ(data_frames(server->take()),
              "7:16384 7:16384 7:7232! 3:16384 5:16384 3:16384 5:16384 3:7232! 5:7232! "
              "1:16384 1:16384 1:7232!");
}

TEST(h2_sending, an_update_of_the_priority_overtakes_what_waits) {
    const auto server = server_with(2);
    const std::string content(40'000, 'x');
    const std::string_view pieces[] = {content};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    ASSERT_TRUE(server->session.send_data(server->at(3), pieces, true));
    std::vector<std::string_view> views;
    server->session.gather(1, views);
    server->session.written();
    server->receive(frame(frame_type::priority_update, 0, 0, u32(3) + "u=0"));
    EXPECT_EQ(data_frames(server->take()), "3:16384 3:16384 3:7232! 1:16384 1:7232!");
}

TEST(h2_sending, pieces_of_a_stream_that_is_reset_stay_until_what_was_gathered_is_written) {
    for (const bool by_peer : {true, false}) {
        const auto server = server_with(1);
        const std::string content(100'000, 'x');
        const std::string_view pieces[] = {content};
        ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
        std::vector<std::string_view> views;
        server->session.gather(20'000, views);
        if (by_peer)
            server->receive(rst(1, error_code::cancel));
        else
            server->session.reset(server->at(1), error_code::cancel);
        EXPECT_TRUE(server->at(1).over());
        EXPECT_TRUE(server->at(1).sending());
        EXPECT_EQ(server->log, by_peer ? "1: failed CANCEL by peer\n" : "");
        server->log.clear();
        server->session.written();
        EXPECT_EQ(server->log, "1: sent\n");
        EXPECT_FALSE(server->at(1).sending());
        EXPECT_EQ(data_frames(server->take()), "");
    }
}

TEST(h2_sending, pieces_that_wait_are_let_go_at_once_when_their_stream_is_reset) {
    const auto server = server_with(1);
    const std::string_view pieces[] = {"abc"};
    ASSERT_TRUE(server->session.send_data(server->at(1), pieces, true));
    server->session.reset(server->at(1), error_code::cancel);
    EXPECT_FALSE(server->at(1).sending());
    EXPECT_EQ(server->take(), rst(1, error_code::cancel));
    EXPECT_FALSE(server->session.send_data(server->at(1), pieces, true));
}

TEST(h2_sending, a_large_head_continues_in_frames_that_the_peer_takes) {
    const auto server = server_with(1);
    std::vector<std::string> values;
    for (int i = 0; i < 40; ++i)
        values.push_back(std::string(1000, static_cast<char>('a' + i % 26)) + std::to_string(i));
    std::vector<field> fields;
    for (const std::string& value : values) fields.push_back({"X-Large", value});
    server->session.send_head(server->at(1), ok, fields, true);
    const std::string sent = server->take();
    const auto frames = frames_in(sent);
    ASSERT_GE(frames.size(), 2U);
    EXPECT_FALSE(frames[0].header.has(flag::end_headers));
    EXPECT_TRUE(frames[0].header.has(flag::end_stream));
    for (std::size_t i = 1; i < frames.size(); ++i)
        EXPECT_EQ(frames[i].header.type, frame_type::continuation);
    EXPECT_TRUE(frames.back().header.has(flag::end_headers));
    coracle::http::h2_limits limits;
    limits.head = 1 << 20;
    const auto client = greeted_client(limits);
    client->request();
    client->receive(sent);
    EXPECT_NE(client->log.find("x-large=" + values.back()), std::string::npos);
}

TEST(h2_sending, names_are_sent_in_lower_case_and_fields_of_the_connection_are_not_sent) {
    const auto server = server_with(1);
    const field fields[] = {
        {"Content-Type", "text/plain", coracle::http::field_id::content_type},
        {"Connection", "close", coracle::http::field_id::connection},
        {"Transfer-Encoding", "chunked", coracle::http::field_id::transfer_encoding},
        {"X-Mixed", "Case", coracle::http::field_id::other}};
    server->session.send_head(server->at(1), ok, fields, true);
    const auto client = greeted_client();
    client->request();
    client->receive(server->take());
    EXPECT_EQ(client->log, "1: 200 content-type=text/plain x-mixed=Case end\n1: end\n1: closed\n");
}

TEST(h2_sending, a_table_that_was_given_up_is_empty_on_both_sides) {
    const auto server = server_with(3);
    const auto client = greeted_client();
    for (int i = 0; i < 3; ++i) client->request();
    const field fields[] = {{"x-long", "a value that is worth an entry of the table"}};
    for (const std::uint32_t id : {1U, 3U, 5U}) {
        server->session.send_head(server->at(id), ok, fields, true);
        client->receive(server->take());
        server->session.trim();
    }
    ASSERT_FALSE(client->session.failure().has_value());
    EXPECT_NE(client->log.find("5: 200 x-long=a value that is worth an entry of the table end"),
              std::string::npos);
}

TEST(h2_sending, a_table_that_the_peer_resizes_while_it_is_given_up_stays_in_step) {
    const auto server = server_with(6);
    const auto client = greeted_client();
    for (int i = 0; i < 6; ++i) client->request();
    const std::uint32_t sizes[] = {4096, 100, 4096, 0, 200, 4096};
    for (std::uint32_t i = 0; i < 6; ++i) {
        server->receive(settings_frame(setting_entry(setting::header_table_size, sizes[i])));
        const std::string value = "a value of " + std::to_string(i / 2) + " that is worth an entry";
        const field fields[] = {{"x-long", value}, {"x-other", "an entry that each of them has"}};
        server->session.send_head(server->at(2 * i + 1), ok, fields, true);
        client->receive(server->take());
        ASSERT_FALSE(client->session.failure().has_value()) << "at " << i;
        EXPECT_NE(client->log.find("x-long=" + value + " x-other=an entry"), std::string::npos);
        client->log.clear();
        if (i % 2 == 1) server->session.trim();
    }
}

TEST(h2_sending, a_head_without_memory_leaves_those_of_other_streams_whole) {
    if (!coracle::testing::counts_allocations()) GTEST_SKIP() << "not counted in this build";
    const std::string value = "a value that is worth an entry";
    const std::string large(20'000, 'l');
    const field first[] = {{"x-long", value}, {"x-large", large}};
    const field second[] = {{"x-long", value}};
    for (std::size_t n = 1;; ++n) {
        const auto server = server_with(2);
        const auto client = greeted_client();
        for (int i = 0; i < 2; ++i) client->request();
        server->receive(settings_frame(setting_entry(setting::header_table_size, 200)));
        bool failed = false;
        coracle::testing::fail_allocation(n);
        try {
            server->session.send_head(server->at(1), ok, first, true);
        } catch (const std::bad_alloc&) {
            failed = true;
        }
        const bool none_failed = coracle::testing::allocation_will_fail();
        coracle::testing::fail_allocation(0);
        if (failed) server->session.reset(server->at(1), error_code::internal_error);
        server->session.send_head(server->at(3), ok, second, true);
        client->receive(server->take());
        ASSERT_FALSE(client->session.failure().has_value()) << n;
        EXPECT_NE(client->log.find("3: 200 x-long=" + value + " end"), std::string::npos) << n;
        if (none_failed) break;
    }
}

TEST(h2_sending, a_window_that_has_grown_keeps_what_was_added_when_settings_are_acknowledged) {
    recording server(role::server);
    server.receive(std::string(client_preface) + settings_frame());
    server.take();
    server.session.set_round_trip(1s);
    server.receive(headers(1, post_block(), false));
    const std::string full(16384, 'x');
    std::uint64_t opened = 65536;
    const auto send = [&](const std::string& bytes) {
        server.now += 1ms;
        server.receive(data(1, bytes));
        opened -= bytes.size();
        for (const sent_frame& f : frames_in(server.take())) {
            if (f.header.stream == 1) opened += read_u32(f.payload.data());
        }
    };
    for (int i = 0; i < 4; ++i) send(full);
    ASSERT_GT(opened, 65536U);
    server.receive(frame(frame_type::settings, flag::ack, 0));
    server.consumes = false;
    while (opened >= full.size()) send(full);
    if (opened != 0) send(std::string(opened, 'x'));
    EXPECT_EQ(server.log.find("failed"), std::string::npos) << server.log;
}

TEST(h2_sending, windows_grow_while_they_are_what_holds_the_sender_up) {
    coracle::http::h2_limits limits;
    const auto server = greeted_server(limits);
    server->session.set_round_trip(10ms);
    server->receive(headers(1, post_block(), false));
    const std::string full(16384, 'x');
    std::uint64_t opened = 0;
    // A frame each millisecond: half of 64 KiB is consumed well within two round trips.
    for (int i = 0; i < 100; ++i) {
        server->now += 1ms;
        server->receive(data(1, full));
        for (const sent_frame& f : frames_in(server->take())) {
            if (f.header.stream == 1) opened += read_u32(f.payload.data());
        }
    }
    EXPECT_EQ(server->log, "1: POST /\n");
    EXPECT_EQ(opened + 65536 - 100 * 16384 >= (1U << 20) / 2, true) << opened;

    // A slow sender keeps the window that it has.
    const auto slow = greeted_server(limits);
    slow->session.set_round_trip(10ms);
    slow->receive(headers(1, post_block(), false));
    opened = 0;
    for (int i = 0; i < 100; ++i) {
        slow->now += 50ms;
        slow->receive(data(1, full));
        for (const sent_frame& f : frames_in(slow->take())) {
            if (f.header.stream == 1) opened += read_u32(f.payload.data());
        }
    }
    EXPECT_EQ(opened, 100U * 16384);
}

TEST(h2_sending, a_server_that_shuts_down_says_so_twice_and_serves_what_it_has) {
    const auto server = server_with(1);
    server->session.shut_down(false);
    EXPECT_EQ(server->take(), frame(frame_type::goaway, 0, 0, u32(0x7fffffff) + u32(0)));
    server->receive(headers(3, get_block()));
    EXPECT_EQ(server->log, "3: GET / end\n3: end\n");
    server->session.shut_down(true);
    EXPECT_EQ(server->take(), frame(frame_type::goaway, 0, 0, u32(3) + u32(0)));
    server->log.clear();
    server->receive(headers(5, post_block(), false) + data(5, "ignored", true));
    EXPECT_EQ(server->log, "");
    EXPECT_FALSE(server->session.failure().has_value());
    server->session.send_head(server->at(3), ok, {}, true);
    EXPECT_EQ(server->log, "3: closed\n");
}

// So gRPC measures the bandwidth.
TEST(h2_sending, a_ping_for_each_piece_of_data_counts_for_no_limit) {
    coracle::http::h2_limits limits;
    limits.pings = 3;
    const auto server = greeted_server(limits);
    const std::string ping = frame(frame_type::ping, 0, 0, "12345678");
    server->receive(headers(1, post_block(), false));
    const field control[] = {{":status", "200"}};
    server->session.send_head(server->at(1), control, {}, false);
    const std::string_view piece = "piece";
    for (int i = 0; i != 50; ++i) {
        ASSERT_TRUE(server->session.send_data(server->at(1), {&piece, 1}, false));
        server->take();
        server->receive(ping);
        EXPECT_EQ(server->take(), frame(frame_type::ping, flag::ack, 0, "12345678"));
    }
    // Those of streams too; without either they count.
    server->receive(headers(3, get_block()) + ping);
    server->receive(repeated(3, ping));
    EXPECT_FALSE(server->session.failure().has_value()) << server->log;
    server->receive(ping);
    EXPECT_NE(server->log.find("limit pings"), std::string::npos) << server->log;
}

TEST(h2_sending, no_goaway_names_a_later_stream_than_the_one_before) {
    const auto server = server_with(1);
    server->session.shut_down(true);
    server->take();
    server->receive(headers(3, get_block()) + frame(frame_type::ping, 0, 1, "12345678"));
    ASSERT_TRUE(server->session.failure().has_value());
    const auto frames = frames_in(server->take());
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(read_u32(frames[0].payload.data()), 1U);
}

TEST(h2_sending, padding_comes_back_to_both_windows) {
    // A byte of content and one for a padding of nothing: if that were lost, the stream's window
    // would be used up before the end.
    const auto server = greeted_server();
    server->receive(headers(1, post_block(), false));
    const std::string padded = frame(frame_type::data, flag::padded, 1, "\0x"s);
    for (int i = 0; i < 70'000; ++i) {
        server->receive(padded);
        server->take();
    }
    EXPECT_EQ(server->at(1).content.size(), 70'000U) << server->log;
    EXPECT_GT(server->session.receive_window_left(), (1 << 20) / 2);
}

TEST(h2_sending, a_stream_that_is_reset_amid_its_data_is_told_of_no_more_of_it) {
    const auto server = greeted_server();
    server->resets = true;
    server->receive(headers(1, post_block(), false));
    const std::string bytes = data(1, std::string(1000, 'x'), true);
    server->receive(std::string_view(bytes).substr(0, 100));
    server->receive(std::string_view(bytes).substr(100));
    EXPECT_EQ(server->at(1).content.size(), 91U);
    EXPECT_EQ(server->log, "1: POST /\n");
    EXPECT_FALSE(server->session.failure().has_value());
}

}  // namespace
