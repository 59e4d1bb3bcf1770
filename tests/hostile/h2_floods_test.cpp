#include "../wire/h2_frames.hpp"

#include <gtest/gtest.h>

#include <chrono>

using namespace coracle::http::h2;
using namespace coracle::http::h2::test;
using namespace std::literals;

// Attacks of a hostile peer on a session: rows 9 to 17 of the attacks that the limits are for. Each
// is tried at its limit and one beyond.

namespace {

/// Expects that the peer is cut, for this limit and no other.
void expect_cut(recording& session, limit_kind kind) {
    ASSERT_TRUE(session.session.failure().has_value());
    EXPECT_EQ(describe(*session.session.failure()), describe(error_code::enhance_your_calm));
    EXPECT_NE(session.log.find(std::string("limit ") + to_string(kind) + '\n'), std::string::npos)
        << session.log;
}

void expect_alive(recording& session) {
    ASSERT_FALSE(session.session.failure().has_value()) << session.log;
}

TEST(h2_floods, a_client_may_reset_two_hundred_streams_at_once_and_twenty_a_second) {
    const auto server = greeted_server();
    std::uint32_t id = 1;
    const auto open_and_reset = [&] {
        server->receive(headers(id, post_block(), false) + rst(id, error_code::cancel));
        id += 2;
        server->take();
    };
    for (int i = 0; i < 200; ++i) open_and_reset();
    expect_alive(*server);
    server->now += 1s;
    for (int i = 0; i < 20; ++i) open_and_reset();
    expect_alive(*server);
    open_and_reset();
    expect_cut(*server, limit_kind::resets);
}

TEST(h2_floods, resets_that_the_client_provokes_count_like_its_own) {
    const auto server = greeted_server();
    std::uint32_t id = 1;
    const auto provoke = [&] {
        // A window update by nothing makes the server reset the stream.
        server->receive(headers(id, post_block(), false) + window_update(id, 0));
        id += 2;
        server->take();
    };
    for (int i = 0; i < 200; ++i) provoke();
    expect_alive(*server);
    provoke();
    expect_cut(*server, limit_kind::resets);
}

TEST(h2_floods, streams_beyond_the_limit_are_refused_and_count_as_resets) {
    const auto server = greeted_server();
    std::uint32_t id = 1;
    for (int i = 0; i < 100; ++i, id += 2) server->receive(headers(id, post_block(), false));
    EXPECT_EQ(server->session.streams(), 100U);
    EXPECT_EQ(server->take().find(rst(199, error_code::refused_stream)), std::string::npos);
    server->receive(headers(id, post_block(), false));
    EXPECT_NE(server->take().find(rst(id, error_code::refused_stream)), std::string::npos);
    EXPECT_EQ(server->session.streams(), 100U);
    for (int i = 0; i < 199; ++i) {
        id += 2;
        server->receive(headers(id, post_block(), false));
        server->take();
    }
    expect_alive(*server);
    server->receive(headers(id + 2, post_block(), false));
    expect_cut(*server, limit_kind::resets);
}

TEST(h2_floods, a_head_has_eight_continuations) {
    for (const int frames : {8, 9}) {
        const auto server = greeted_server();
        const std::string block = get_block().bytes();
        server->receive(frame(frame_type::headers, flag::end_stream, 1, block));
        for (int i = 1; i < frames; ++i) server->receive(frame(frame_type::continuation, 0, 1));
        server->receive(frame(frame_type::continuation, flag::end_headers, 1));
        if (frames == 8) {
            expect_alive(*server);
            EXPECT_EQ(server->log, "1: GET / end\n1: end\n");
        } else {
            expect_cut(*server, limit_kind::continuations);
        }
    }
}

TEST(h2_floods, a_head_beyond_its_bytes_or_fields_is_too_large_and_the_next_one_is_not) {
    coracle::http::h2_limits limits;
    limits.head = 300;
    // The four pseudo-fields are 7+3, 7+4, 5+1 and 10+1 bytes, and 32 each: 166. "x" and 32: 33 and
    // the value.
    for (const std::size_t value : {101U, 102U}) {
        const auto server = greeted_server(limits);
        server->receive(headers(1, get_block().add("x", std::string(value, 'v'))));
        const bool fits = value == 101;
        EXPECT_EQ(server->log.find("too large") == std::string::npos, fits) << server->log;
        EXPECT_EQ(server->log.find("limit head") == std::string::npos, fits);
        expect_alive(*server);
        server->log.clear();
        server->receive(headers(3, get_block()));
        EXPECT_EQ(server->log, "3: GET / end\n3: end\n");
    }
    // The pseudo-fields do not count.
    for (const int fields : {100, 101}) {
        const auto server = greeted_server();
        block b = get_block();
        for (int i = 0; i < fields; ++i) b.add("x", "a");
        server->receive(headers(1, b));
        EXPECT_EQ(server->log.find("too large") == std::string::npos, fields == 100);
    }
}

TEST(h2_floods, references_to_a_long_entry_of_the_table_are_charged_as_what_they_stand_for) {
    // One literal of 3,000 bytes with indexing, then references of one byte: 64 KiB are 21 of them.
    const auto server = greeted_server();
    std::string bytes = get_block().bytes();
    bytes += "\x40\x01x"s;
    block value;
    value.add("", std::string(3000, 'v'));
    bytes += value.bytes().substr(2);  // behind the literal's own first byte and its empty name
    for (const int references : {20, 21}) {
        const auto fresh = greeted_server();
        fresh->receive(frame(frame_type::headers, flag::end_headers | flag::end_stream, 1,
                             bytes + std::string(static_cast<std::size_t>(references), '\xbe')));
        EXPECT_EQ(fresh->log.find("too large") == std::string::npos, references == 20)
            << references;
        expect_alive(*fresh);
    }
}

TEST(h2_floods, a_compressed_head_has_a_limit_of_its_own) {
    coracle::http::h2_limits limits;
    limits.compressed_head = 1000;
    limits.head = 1 << 20;
    for (const std::size_t size : {1000U, 1001U}) {
        const auto server = greeted_server(limits);
        block b = get_block();
        const std::size_t rest = size - b.bytes().size();
        // A literal costs one byte, the name two, and the length of the value three.
        b.add("x", std::string(rest - 6, 'v'));
        ASSERT_EQ(b.bytes().size(), size);
        server->receive(headers(1, b));
        if (size == 1000)
            expect_alive(*server);
        else
            expect_cut(*server, limit_kind::head);
    }
}

TEST(h2_floods, a_hundred_pings_in_ten_seconds) {
    const auto server = greeted_server();
    const auto ping = [&] {
        server->receive(frame(frame_type::ping, 0, 0, "12345678"));
        server->take();
    };
    for (int i = 0; i < 100; ++i) ping();
    expect_alive(*server);
    server->now += 10s;
    for (int i = 0; i < 100; ++i) ping();
    expect_alive(*server);
    ping();
    expect_cut(*server, limit_kind::pings);
}

TEST(h2_floods, ten_settings_in_ten_seconds_with_thirty_two_entries) {
    const auto server = greeted_server();
    // One came with the preface.
    for (int i = 0; i < 9; ++i) server->receive(settings_frame());
    expect_alive(*server);
    server->receive(settings_frame());
    expect_cut(*server, limit_kind::settings);
    for (const int entries : {32, 33}) {
        const auto other = greeted_server();
        std::string all;
        for (int i = 0; i < entries; ++i) all += setting_entry(setting::max_frame_size, 16384);
        other->receive(settings_frame(all));
        if (entries == 32)
            expect_alive(*other);
        else
            expect_cut(*other, limit_kind::settings);
    }
}

TEST(h2_floods, sixteen_empty_data_frames_in_a_row) {
    const auto server = greeted_server();
    server->receive(headers(1, post_block(), false));
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 16; ++i) server->receive(data(1, ""));
        server->receive(data(1, "x"));
    }
    expect_alive(*server);
    const std::string padding =
        frame(frame_type::data, flag::padded, 1, "\xff" + std::string(255, '\0'));
    for (int i = 0; i < 8; ++i) server->receive(data(1, "") + padding);
    expect_alive(*server);
    server->receive(padding);
    expect_cut(*server, limit_kind::empty_data);
}

TEST(h2_floods, small_frames_that_nobody_reads_are_charged_and_those_that_are_read_are_not) {
    // A frame of one byte lacks 255: 257 of them are 64 KiB and a few bytes.
    coracle::http::h2_limits limits;
    limits.small_data = 64 * 1024;
    const auto server = greeted_server(limits);
    server->consumes = false;
    server->receive(headers(1, post_block(), false));
    for (int i = 0; i < 257; ++i) server->receive(data(1, "x"));
    expect_alive(*server);
    server->receive(data(1, "x"));
    expect_cut(*server, limit_kind::small_data);

    // Padding, whose window is given back at once, does not make a frame larger.
    const auto padded = greeted_server(limits);
    padded->consumes = false;
    padded->receive(headers(1, post_block(), false));
    const std::string little =
        frame(frame_type::data, flag::padded, 1, "\xffx" + std::string(255, '\0'));
    for (int i = 0; i < 257; ++i) padded->receive(little);
    expect_alive(*padded);
    padded->receive(little);
    expect_cut(*padded, limit_kind::small_data);

    // A reader that is always a little behind.
    const auto behind = greeted_server(limits);
    behind->consumes = false;
    behind->receive(headers(1, post_block(), false));
    for (int i = 0; i < 100; ++i) behind->receive(data(1, "x"));
    for (int i = 0; i < 5000; ++i) {
        behind->receive(data(1, "x"));
        behind->session.consume(behind->at(1), 1, behind->now);
        behind->take();
    }
    expect_alive(*behind);
    for (int i = 0; i < 150; ++i) behind->receive(data(1, "x"));
    expect_alive(*behind);
    for (int i = 0; i < 20; ++i) behind->receive(data(1, "x"));
    expect_cut(*behind, limit_kind::small_data);

    const auto reader = greeted_server();
    reader->receive(headers(1, post_block(), false));
    for (int i = 0; i < 5000; ++i) reader->receive(data(1, "x"));
    expect_alive(*reader);

    // Bytes that are read late are forgiven, and a stream that ends takes its charge with it.
    const auto late = greeted_server();
    late->consumes = false;
    for (std::uint32_t id = 1; id < 100; id += 2) {
        late->receive(headers(id, post_block(), false));
        for (int i = 0; i < 200; ++i) late->receive(data(id, "x"));
        if (id % 4 == 1)
            late->session.consume(late->at(id), 200, late->now);
        else
            late->session.reset(late->at(id), error_code::cancel);
    }
    expect_alive(*late);
}

TEST(h2_floods, frames_that_mean_nothing_have_a_budget) {
    const std::string nothing[] = {
        frame(frame_type::priority, 0, 9, u32(1) + "x"),
        frame(static_cast<frame_type>(0x42), 0, 0, "what"),
        frame(frame_type::priority_update, 0, 0, u32(9) + "u=1"),
        frame(frame_type::ping, flag::ack, 0, "12345678"),
    };
    for (const std::string& bytes : nothing) {
        const auto server = greeted_server();
        for (int i = 0; i < 1000; ++i) server->receive(bytes);
        expect_alive(*server);
        server->now += 1s;
        for (int i = 0; i < 100; ++i) server->receive(bytes);
        expect_alive(*server);
        server->receive(bytes);
        expect_cut(*server, limit_kind::idle_frames);
    }
}

TEST(h2_floods, window_updates_beyond_what_was_sent_count_as_nothing) {
    const auto server = greeted_server();
    for (int i = 0; i < 1005; ++i) server->receive(window_update(0, 1));
    expect_alive(*server);
    server->receive(window_update(0, 1));
    expect_cut(*server, limit_kind::idle_frames);

    // Ten for each frame of data that went out, twice, are what reading costs.
    const auto sender = greeted_server();
    sender->receive(headers(1, get_block()));
    const std::string content(16384 * 3, 'x');
    const std::string_view pieces[] = {content};
    ASSERT_TRUE(sender->session.send_data(sender->at(1), pieces, true));
    sender->take();
    for (int i = 0; i < 1000 + 5 + 2 + 60; ++i) sender->receive(window_update(0, 1));
    expect_alive(*sender);
    sender->receive(window_update(0, 1));
    expect_cut(*sender, limit_kind::idle_frames);
}

TEST(h2_floods, data_of_a_stream_that_we_reset_beyond_its_window_counts_as_nothing) {
    const auto server = greeted_server();
    server->receive(headers(1, post_block(), false) + data(1, "x"));
    server->session.reset(server->at(1), error_code::cancel);
    server->take();
    // The window had so much left, which may have been on its way.
    const std::uint32_t window = coracle::http::h2_limits().stream_window;
    for (std::uint32_t i = 1; i != window; ++i) server->receive(data(1, "x"));
    expect_alive(*server);
    for (int i = 0; i < 1000; ++i) server->receive(data(1, "x"));
    expect_alive(*server);
    server->receive(data(1, "x"));
    expect_cut(*server, limit_kind::idle_frames);
}

TEST(h2_floods, resets_of_streams_that_are_over_beyond_what_was_sent_count_as_nothing) {
    const auto server = greeted_server();
    server->receive(headers(1, get_block()));
    for (int i = 0; i < 7; ++i) {
        const std::string_view pieces[] = {"a piece"};
        ASSERT_TRUE(server->session.send_data(server->at(1), pieces, false));
        server->take();
    }
    server->receive(rst(1, error_code::cancel));
    // Some clients reset a stream anew for each frame that comes on it later.
    for (int i = 0; i < 1000 + 7; ++i) server->receive(rst(1, error_code::stream_closed));
    expect_alive(*server);
    server->receive(rst(1, error_code::stream_closed));
    expect_cut(*server, limit_kind::idle_frames);
}

const coracle::http::field ok[] = {{":status", "200"}};

/// Sends a request and responds to it, without content.
void ask_and_respond(recording& server, std::uint32_t id) {
    server.receive(headers(id, get_block()));
    server.session.send_head(server.at(id), ok, {}, true);
}

TEST(h2_floods, responses_that_nobody_reads_have_a_bound) {
    coracle::http::h2_limits limits;
    limits.streams = 10;
    const auto server = greeted_server(limits);
    std::uint32_t id = 1;
    // As many again as may be open: the client may have reset those.
    for (int i = 0; i < 20; ++i, id += 2) ask_and_respond(*server, id);
    EXPECT_EQ(server->session.streams(), 0U);
    expect_alive(*server);
    EXPECT_EQ(server->log.find("limit"), std::string::npos) << server->log;
    server->receive(headers(id, get_block()));
    EXPECT_NE(server->log.find("limit streams\n"), std::string::npos) << server->log;
    EXPECT_NE(server->take().find(rst(id, error_code::refused_stream)), std::string::npos);
    // It goes on where they are read.
    for (int i = 0; i < 20; ++i) ask_and_respond(*server, id += 2);
    // A flood of them is one of resets.
    for (int i = 0; i < 1000 && !server->session.failure(); ++i) {
        server->receive(headers(id += 2, get_block()));
    }
    expect_cut(*server, limit_kind::resets);
}

TEST(h2_floods, responses_that_nobody_reads_of_streams_that_are_reset_have_a_bound) {
    coracle::http::h2_limits limits;
    limits.streams = 10;
    for (const bool by_peer : {true, false}) {
        const auto server = greeted_server(limits);
        std::uint32_t id = 1;
        for (int i = 0; i < 20; ++i, id += 2) {
            server->receive(headers(id, post_block(), false));
            server->session.send_head(server->at(id), ok, {}, true);
            if (by_peer)
                server->receive(rst(id, error_code::cancel));
            else
                server->session.reset(server->at(id), error_code::no_error);
            expect_alive(*server);
        }
        EXPECT_EQ(server->session.streams(), 0U);
        EXPECT_EQ(server->log.find("limit"), std::string::npos) << server->log;
        server->receive(headers(id, get_block()));
        EXPECT_NE(server->log.find("limit streams\n"), std::string::npos) << server->log;
    }
}

TEST(h2_floods, streams_without_a_response_are_not_counted_as_the_one_whose_memory_they_have) {
    coracle::http::h2_limits limits;
    limits.streams = 10;
    const auto server = greeted_server(limits);
    server->reuses = true;
    ask_and_respond(*server, 1);
    for (std::uint32_t id = 3; id < 63; id += 2) {
        server->receive(headers(id, get_block()) + rst(id, error_code::cancel));
    }
    expect_alive(*server);
    EXPECT_EQ(server->log.find("limit"), std::string::npos) << server->log;
}

TEST(h2_floods, responses_that_are_read_have_none) {
    coracle::http::h2_limits limits;
    limits.streams = 10;
    const auto server = greeted_server(limits);
    for (std::uint32_t id = 1; id < 2000; id += 2) {
        ask_and_respond(*server, id);
        if (id % 10 == 9) server->take();
    }
    expect_alive(*server);
    EXPECT_EQ(server->log.find("limit"), std::string::npos);
}

TEST(h2_floods, acknowledgements_that_nobody_reads_have_a_bound) {
    coracle::http::h2_limits limits;
    limits.pings = 1'000'000;
    const auto server = greeted_server(limits);
    // 17 bytes each: 963 fit into 16 KiB.
    for (int i = 0; i < 963; ++i) server->receive(frame(frame_type::ping, 0, 0, "12345678"));
    expect_alive(*server);
    server->receive(frame(frame_type::ping, 0, 0, "12345678"));
    expect_cut(*server, limit_kind::queued_control);
}

TEST(h2_floods, acknowledgements_are_whole_wherever_their_bound_is) {
    const std::string ping = frame(frame_type::ping, 0, 0, "12345678");
    const std::string pong = frame(frame_type::ping, flag::ack, 0, "12345678");
    // The farewell may move what is queued to a larger block.
    for (std::uint32_t most = 100; most < 2100; most += 16) {
        coracle::http::h2_limits limits;
        limits.pings = 1'000'000;
        limits.queued_control = most;
        const auto server = greeted_server(limits);
        std::string all;
        while (!server->session.failure().has_value()) {
            server->receive(ping);
            all += pong;
        }
        expect_cut(*server, limit_kind::queued_control);
        EXPECT_TRUE(server->take().starts_with(all)) << most;
    }
}

TEST(h2_floods, acknowledgements_that_are_read_have_none) {
    coracle::http::h2_limits limits;
    limits.pings = 1'000'000;
    const auto server = greeted_server(limits);
    for (int i = 0; i < 3000; ++i) {
        server->receive(frame(frame_type::ping, 0, 0, "12345678"));
        server->take();
    }
    expect_alive(*server);
}

TEST(h2_floods, a_peer_that_exceeds_a_window_is_cut) {
    const auto server = greeted_server();
    server->consumes = false;
    server->receive(headers(1, post_block(), false));
    const std::string full(16384, 'x');
    for (int i = 0; i < 4; ++i) server->receive(data(1, full));
    EXPECT_EQ(server->session.streams(), 1U);
    server->receive(data(1, "x"));
    EXPECT_NE(server->log.find("1: failed FLOW_CONTROL_ERROR\n"), std::string::npos);
    expect_alive(*server);

    // The connection's window holds for all streams together, and for what is dropped.
    coracle::http::h2_limits limits;
    limits.connection_window = 100'000;
    const auto other = greeted_server(limits);
    other->consumes = false;
    for (std::uint32_t id = 1; id < 5; id += 2) {
        other->receive(headers(id, post_block(), false));
        for (int i = 0; i < 3; ++i) other->receive(data(id, full));
    }
    expect_alive(*other);
    other->receive(data(3, full));
    ASSERT_TRUE(other->session.failure().has_value());
    EXPECT_EQ(describe(*other->session.failure()), describe(error_code::flow_control_error));
}

TEST(h2_floods, a_server_may_send_sixteen_interim_responses) {
    for (const int interim : {16, 17}) {
        const auto client = greeted_client();
        client->request();
        for (int i = 0; i < interim; ++i)
            client->receive(headers(1, block().add(":status", "103"), false));
        EXPECT_EQ(client->log.find("limit interim_responses") == std::string::npos, interim == 16);
        EXPECT_EQ(client->log.find("1: failed ENHANCE_YOUR_CALM\n") == std::string::npos,
                  interim == 16);
    }
}

TEST(h2_floods, a_server_pushes_nothing) {
    const auto client = greeted_client();
    client->request();
    client->receive(
        frame(frame_type::push_promise, flag::end_headers, 1, u32(2) + get_block().bytes()));
    ASSERT_TRUE(client->session.failure().has_value());
    const auto other = greeted_client();
    other->receive(headers(2, block().add(":status", "200")));
    ASSERT_TRUE(other->session.failure().has_value());
    const auto asks = greeted_client();
    asks->receive(settings_frame(setting_entry(setting::enable_push, 1)));
    ASSERT_TRUE(asks->session.failure().has_value());
}

}  // namespace
