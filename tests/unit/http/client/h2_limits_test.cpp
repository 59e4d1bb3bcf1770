// Calls over HTTP/2 to servers that change their settings, flood or break the rules, and the limits
// of the client itself.

#include "support/h2_script_calls.hpp"

#include <coracle/runtime/sleep.hpp>
#include <coracle/runtime/when_all.hpp>
#include <coracle/runtime/with_timeout.hpp>

#include <gmock/gmock.h>

namespace coracle::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using h2_code = http::h2::error_code;
using connection = h2_script_connection;
using request = h2_script_stream;

/// A frame as it is on the wire.
std::string frame(http::h2::frame_type type, std::uint8_t flags, std::uint32_t stream,
                  std::string_view payload) {
    std::string all(http::h2::frame_header::size, '\0');
    const auto size = static_cast<std::uint32_t>(payload.size());
    http::h2::write_frame_header(all.data(), {size, type, flags, stream});
    return all.append(payload);
}

TEST(client_h2, ends_a_connection_whose_server_floods_or_plays_games) {
    using http::h2::frame_type;
    using http::h2::flag::end_headers;
    const struct {
        const char* name;
        std::string bytes;
        h2_code code;
    } games[] = {
        {"push", frame(frame_type::push_promise, end_headers, 1, std::string("\0\0\0\2", 4)),
         h2_code::protocol_error},
        {"a stream of its own", frame(frame_type::headers, end_headers, 2, "\x88"),
         h2_code::protocol_error},
        {"a window beyond all",
         frame(frame_type::window_update, 0, 0, std::string("\x7f\xff\xff\xff", 4)),
         h2_code::flow_control_error},
        {"a window of nothing", frame(frame_type::window_update, 0, 0, std::string(4, '\0')),
         h2_code::protocol_error},
        // Without content: the header is refused, and a byte behind it might be left unread, which
        // makes the close a reset.
        {"data that nobody asked for", frame(frame_type::data, 0, 7, ""), h2_code::protocol_error},
    };
    const struct {
        const char* name;
        std::string first;
        std::string again;
    } floods[] = {
        {"ping", "", frame(frame_type::ping, 0, 0, "12345678")},
        {"settings", "", frame(frame_type::settings, 0, 0, "")},
        {"continuation", frame(frame_type::headers, 0, 1, "\x88"),
         frame(frame_type::continuation, 0, 1, "")},
        {"unknown frames", "", frame(static_cast<frame_type>(0xbb), 0, 0, "")},
        {"goaway", "", frame(frame_type::goaway, 0, 0, std::string("\x7f\xff\xff\xff\0\0\0\0", 8))},
    };
    std::vector<std::pair<std::string, h2_code>> all;
    for (const auto& g : games) all.emplace_back(g.bytes, g.code);
    for (const auto& f : floods) {
        std::string bytes = f.first;
        for (int i = 0; i != 2'000; ++i) bytes += f.again;
        all.emplace_back(std::move(bytes), h2_code::enhance_your_calm);
    }
    with_peer([&](h2_script_server& peer, http::client& client) -> task<> {
        for (const auto& [bytes, code] : all) {
            peer.on_end = [&](connection& c, request&) { c.send_raw(bytes); };
            const auto r = co_await as_result(client.post(peer.url()).body("x").full());
            EXPECT_TRUE(!r && r.error().code() == make_error_code(code))
                << static_cast<unsigned>(code) << ": " << (r ? error() : r.error());
            co_await sleep_for(100ms);
            // Closing before all of a flood has been read is a reset, which may overtake it.
            if (code != h2_code::enhance_your_calm) {
                EXPECT_EQ(peer.connections.back()->said_goodbye, code);
            }
            EXPECT_EQ(client.statistics().connections, 0U);
        }
        const auto s = client.statistics().h2;
        EXPECT_EQ(s.connections, all.size());
        EXPECT_EQ(s.pings, 1u);
        EXPECT_EQ(s.settings, 1u);
        EXPECT_EQ(s.continuations, 1u);
        EXPECT_EQ(s.idle_frames, 2u);
        EXPECT_GE(s.goaways, 1u);
    });
}

std::string settings(std::uint8_t id, std::uint32_t value) {
    std::string entry{'\0', static_cast<char>(id)};
    for (int shift = 24; shift >= 0; shift -= 8) entry += static_cast<char>(value >> shift);
    return frame(http::h2::frame_type::settings, 0, 0, entry);
}
constexpr std::uint8_t max_concurrent_streams = 3;
constexpr std::uint8_t initial_window_size = 4;
constexpr std::uint8_t header_table_size = 1;

TEST(client_h2, opens_fewer_streams_once_the_server_takes_fewer) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        EXPECT_TRUE((co_await client.get(peer.url()).full()).ok());
        peer.connections[0]->send_raw(settings(max_concurrent_streams, 2));
        co_await sleep_for(100ms);
        std::vector<request*> held;
        std::size_t most = 0;
        unsigned good = 0;
        peer.on_end = [&](connection& c, request& r) {
            if (&c != peer.connections[0].get()) return c.respond(r, "elsewhere");
            held.push_back(&r);
            most = std::max(most, held.size());
        };
        const auto one = [&]() -> task<> {
            if ((co_await client.get(peer.url()).full()).ok()) ++good;
        };
        const auto block = [&](task_group& group) -> task<> {
            for (int i = 0; i != 20; ++i) group.spawn(one);
            while (good != 20) {
                co_await sleep_for(10ms);
                for (request* r : std::exchange(held, {})) peer.connections[0]->respond(*r, "here");
            }
        };
        co_await with_task_group(block);
        EXPECT_EQ(good, 20U);
        EXPECT_EQ(most, 2U);
        for (const auto& c : peer.connections) EXPECT_FALSE(c->said_goodbye);
    });
}

/// Makes so many calls at once, of which the server holds each as long as others come.
task<unsigned> call_all_at_once(h2_script_server& peer, http::client& client, unsigned calls) {
    std::vector<std::pair<connection*, request*>> held;
    peer.on_end = [&](connection& c, request& r) { held.emplace_back(&c, &r); };
    unsigned good = 0;
    unsigned over = 0;
    const auto one = [&]() -> task<> {
        const auto r = co_await as_result(client.post(peer.url()).body("x").full());
        EXPECT_TRUE(r) << r.error();
        if (r) ++good;
        ++over;
    };
    const auto block = [&](task_group& group) -> task<> {
        for (unsigned i = 0; i != calls; ++i) group.spawn(one);
        while (over != calls) {
            co_await sleep_for(1s);
            for (const auto& [c, r] : std::exchange(held, {})) c->respond(*r, "here");
        }
    };
    co_await with_task_group(block);
    co_return good;
}

TEST(client_h2, learns_how_many_streams_a_server_takes_before_its_next_connection) {
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.limits.streams = 10;
            auto calling = call_all_at_once(peer, client, 100);
            const unsigned good = co_await std::move(calling);
            EXPECT_EQ(good, 100U);
            // Only the first one had to be told.
            for (std::size_t i = 1; i < peer.connections.size(); ++i) {
                EXPECT_LE(peer.connections[i]->streams.size(), 20U) << i;
            }
        },
        {}, over_h2(), 2);
}

TEST(client_h2, opens_no_more_streams_than_usual_before_a_server_says_how_many) {
    http::pool_options p;
    p.streams = 400;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            auto calling = call_all_at_once(peer, client, 400);
            const unsigned good = co_await std::move(calling);
            EXPECT_EQ(good, 400U);
            for (const auto& c : peer.connections) {
                EXPECT_FALSE(c->said_goodbye);
                for (const auto& r : c->streams) EXPECT_TRUE(r->complete);
            }
        },
        p, over_h2(), 2);
}

TEST(client_h2, opens_more_streams_again_a_while_after_one_was_refused) {
    http::pool_options p;
    p.connections_per_host = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            bool refuses = true;
            peer.on_end = [&](connection& c, request& r) {
                if (r.path == "/refused" && std::exchange(refuses, false)) {
                    c.reset(r, h2_code::refused_stream);
                } else {
                    c.respond(r, "here");
                }
            };
            EXPECT_TRUE((co_await client.get(peer.url("/refused")).full()).ok());
            for (int i = 0; i != 300; ++i) co_await client.get(peer.url()).full();
            std::size_t most = 0;
            std::vector<request*> held;
            peer.on_end = [&](connection&, request& r) {
                held.push_back(&r);
                most = std::max(most, held.size());
            };
            const auto one = [&]() -> task<> { co_await client.get(peer.url()).full(); };
            const auto block = [&](task_group& group) -> task<> {
                for (int i = 0; i != 10; ++i) group.spawn(one);
                co_await sleep_for(1s);
                while (!held.empty()) {
                    for (request* r : std::exchange(held, {})) {
                        peer.connections[0]->respond(*r, "here");
                    }
                    co_await sleep_for(1s);
                }
            };
            co_await with_task_group(block);
            EXPECT_EQ(most, 10U);
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p, over_h2(), 2);
}

TEST(client_h2, waits_for_a_server_that_takes_no_streams_as_long_as_its_deadline_allows) {
    http::pool_options p;
    p.connections_per_host = 1;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            EXPECT_TRUE((co_await client.get(peer.url()).full()).ok());
            peer.connections[0]->send_raw(settings(max_concurrent_streams, 0));
            co_await sleep_for(100ms);
            unsigned good = 0;
            const auto one = [&]() -> task<> {
                if ((co_await client.get(peer.url()).timeout(1min).full()).ok()) ++good;
            };
            const auto block = [&](task_group& group) -> task<> {
                for (int i = 0; i != 5; ++i) group.spawn(one);
                co_await sleep_for(30s);
                EXPECT_EQ(good, 0U);
                peer.connections[0]->send_raw(settings(max_concurrent_streams, 1));
            };
            co_await with_task_group(block);
            EXPECT_EQ(good, 5U);
            peer.connections[0]->send_raw(settings(max_concurrent_streams, 0));
            co_await sleep_for(100ms);
            const auto late = co_await as_result(client.get(peer.url()).timeout(5s).full());
            EXPECT_FALSE(late);
            EXPECT_EQ(late.error(), std::errc::timed_out) << late.error();
        },
        p);
}

/// Posts a streamed body that gets a place on a connection just before the server takes fewer
/// streams, and so waits there, until that goes away. `turns`: from the end of the call that had
/// the place to the new limit.
void expect_body_begun_once(int turns) {
    http::pool_options p;
    p.connections_per_host = 1;
    const auto calls = [&](h2_script_server& peer, http::client& client) -> task<> {
        EXPECT_TRUE((co_await client.get(peer.url()).full()).ok());
        connection& first = *peer.connections[0];
        first.send_raw(settings(max_concurrent_streams, 2));
        co_await sleep_for(100ms);
        request* placed = nullptr;
        peer.on_end = [&](connection& c, request& r) {
            if (r.path == "/placed") {
                placed = &r;
            } else if (r.path != "/held") {
                c.respond(r, &c == &first ? "here" : "elsewhere");
            }
        };
        unsigned begun = 0;
        const auto write = [&](http::body_writer& out) -> task<> {
            ++begun;
            co_await out.write("x");
        };
        const auto get = [&](const char* path) -> task<> {
            auto calling = client.get(peer.url(path)).timeout(2s).full();
            static_cast<void>(co_await as_result(calling));
        };
        const auto post = [&]() -> task<> {
            co_await sleep_for(10ms);
            auto calling = client.post(peer.url()).body(http::body::stream(write)).full();
            const auto r = co_await as_result(calling);
            EXPECT_TRUE(r) << r.error();
        };
        const auto end = [&]() -> task<> {
            co_await sleep_for(500ms);
            first.respond(*placed, "done");
            for (int i = 0; i != turns; ++i) co_await yield();
            first.send_raw(settings(max_concurrent_streams, 1));
            co_await sleep_for(500ms);
            first.goaway(0x7fffffff, h2_code::no_error);
        };
        co_await when_all(get("/held"), get("/placed"), post(), end());
        EXPECT_EQ(begun, 1U);
    };
    with_peer(calls, p);
}

TEST(client_h2, begins_no_body_on_a_connection_that_takes_no_more) {
    for (int turns = 0; turns != 12; ++turns) {
        SCOPED_TRACE(turns);
        expect_body_begun_once(turns);
    }
}

// RFC 9113 section 6.9.2: a window may become negative.
TEST(client_h2, sends_on_when_a_window_that_shrank_below_nothing_grows_again) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        peer.on_head = [](connection& c, request&) {
            c.send_raw(settings(initial_window_size, 1000));
        };
        const std::string large(400'000, 'u');
        const auto grow = [&]() -> task<int> {
            co_await sleep_for(1min);
            connection& c = *peer.connections[0];
            EXPECT_FALSE(c.streams[0]->complete);
            c.send_raw(settings(initial_window_size, 65'535));
            co_await sleep_for(1min);
            co_return 1;
        };
        http::full_response whole;
        const auto get = [&]() -> task<> {
            whole = co_await client.post(peer.url()).body(std::string(large)).full();
        };
        const auto block = [&](task_group& group) -> task<> {
            group.spawn(get);
            co_await grow();
        };
        co_await with_task_group(block);
        EXPECT_TRUE(whole.ok());
        EXPECT_EQ(peer.connections[0]->streams[0]->body, large);
    });
}

TEST(client_h2, compresses_without_a_table_once_the_server_keeps_none) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        for (const std::uint32_t size : {4096U, 0U, 100U, 0U, 4096U}) {
            EXPECT_TRUE((co_await client.get(peer.url("/one")).header("X-A", "1").full()).ok());
            const auto again = co_await client.get(peer.url("/two")).header("X-A", "1").full();
            EXPECT_EQ(again.body, "GET /two");
            peer.connections[0]->send_raw(settings(header_table_size, size));
            co_await sleep_for(100ms);
        }
        EXPECT_EQ(peer.connections.size(), 1U);
    });
}

/// A response with the content "fine", and in it `n` frames of a kind that has a limit.
std::string response_with(std::string_view kind, std::uint32_t stream, int n) {
    using http::h2::frame_type;
    using namespace http::h2::flag;
    const std::string last = frame(frame_type::data, end_stream, stream, "fine");
    if (kind == "continuations") {
        std::string bytes = frame(frame_type::headers, 0, stream, "\x88");
        for (int i = 1; i < n; ++i) bytes += frame(frame_type::continuation, 0, stream, "");
        return bytes + frame(frame_type::continuation, end_headers, stream, "") + last;
    }
    std::string one = frame(static_cast<frame_type>(0xbb), 0, 0, "");
    if (kind == "pings") one = frame(frame_type::ping, 0, 0, "12345678");
    if (kind == "settings_frames") one = frame(frame_type::settings, 0, 0, "");
    if (kind == "empty_data") one = frame(frame_type::data, 0, stream, "");
    if (kind == "small_data") one = frame(frame_type::data, 0, stream, "x");
    std::string bytes = frame(frame_type::headers, end_headers, stream, "\x88");
    for (int i = 0; i != n; ++i) bytes += one;
    return bytes + last;
}

TEST(client_h2, keeps_to_its_own_limits) {
    using limits = http::h2_limits;
    using counters = http::client_h2_statistics;
    const struct row {
        const char* name;
        std::uint32_t limits::* limit;
        std::uint32_t value;
        int allowed;
        std::uint64_t counters::* counter;
    } rows[] = {
        {"pings", &limits::pings, 7, 8, &counters::pings},  // one is free for the stream
        {"settings_frames", &limits::settings_frames, 5, 4, &counters::settings},  // and the first
        {"idle_frames", &limits::idle_frames, 9, 9, &counters::idle_frames},
        {"continuations", &limits::continuations, 3, 3, &counters::continuations},
        {"empty_data", &limits::empty_data, 4, 4, &counters::empty_data},
        // Each byte alone is charged 255.
        {"small_data", &limits::small_data, 800, 3, &counters::small_data},
    };
    for (const row& row : rows) {
        http::pool_options p;
        p.h2.limits.*row.limit = row.value;
        for (const bool beyond : {false, true}) {
            const int n = row.allowed + (beyond ? 1 : 0);
            with_peer(
                [&](h2_script_server& peer, http::client& client) -> task<> {
                    peer.on_end = [&](connection& c, request& r) {
                        c.send_raw(response_with(row.name, r.id(), n));
                    };
                    auto response = co_await as_result(client.get(peer.url()));
                    // All of it has come before the body is read: that takes charges back.
                    co_await sleep_for(100ms);
                    std::expected<std::string, error> body;
                    if (response) {
                        auto reading = response->text();
                        body = co_await as_result(reading);
                    } else {
                        body = std::unexpected(response.error());
                    }
                    // The response may have gone first.
                    EXPECT_TRUE(beyond || (body && body->ends_with("fine"))) << row.name;
                    const std::string limit = std::string("h2_limits::") + row.name;
                    EXPECT_TRUE(body || body.error().message().find(limit) != std::string::npos)
                        << body.error();
                    EXPECT_EQ(client.statistics().connections, beyond ? 0u : 1u) << row.name;
                    const counters counted = client.statistics().h2;
                    for (const auto& other : rows) {
                        const bool is_it = beyond && other.counter == row.counter;
                        EXPECT_EQ(counted.*other.counter, is_it ? 1u : 0u)
                            << other.name << " at " << row.name;
                    }
                },
                p, over_h2(), 1);
        }
    }
}

TEST(client_h2, tells_a_server_of_its_windows_and_keeps_to_them) {
    http::pool_options p;
    p.h2.limits.stream_window = p.h2.limits.max_stream_window = 20'000;
    p.h2.limits.connection_window = 100'000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            const std::string large(200'000, 'w');
            peer.on_end = [&](connection& c, request& r) { c.respond(r, large); };
            co_await client.get(peer.url()).full();
            auto held = co_await client.get(peer.url());
            co_await sleep_for(1s);
            EXPECT_EQ(peer.connections[0]->streams[1]->unsent(), large.size() - 20'000);
            EXPECT_EQ(co_await held.text(), large);
        },
        p, over_h2(), 1);
}

TEST(client_h2, has_no_window_beyond_what_the_protocol_allows) {
    http::pool_options p;
    auto& l = p.h2.limits;
    l.stream_window = l.max_stream_window = l.connection_window = ~0U;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            const std::string large(2'000'000, 'w');
            peer.on_end = [&](connection& c, request& r) { c.respond(r, large); };
            for (int i = 0; i != 3; ++i) {
                const auto r = co_await client.get(peer.url()).full();
                EXPECT_EQ(r.body.size(), large.size());
            }
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p, over_h2(), 1);
}

TEST(client_h2, gives_the_window_of_the_connection_back_whatever_becomes_of_a_body) {
    http::pool_options p;
    p.h2.resets = 1000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [](connection& c, request& r) {
                c.respond(r, std::string(r.path == "/small" ? 8'000 : 60'000, 'b'));
            };
            // More than the 16 MiB of the connection, of each kind.
            for (int i = 0; i != 300; ++i) {
                const auto dropped = co_await client.get(peer.url("/large"));
                EXPECT_TRUE(dropped.ok());
            }
            for (int i = 0; i != 4'000; ++i) {
                const auto whole = co_await client.get(peer.url("/small")).full();
                EXPECT_EQ(whole.body.size(), 8'000U);
            }
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p, over_h2(), 1);
}

TEST(client_h2, takes_a_head_as_large_as_it_may_be) {
    http::client_options o = over_h2();
    o.head_limit = 256 * 1024;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            const std::string value(200'000, 'x');
            peer.on_end = [&value](connection& c, request& r) {
                c.respond(r, 200, {{"x", value}}, "fine");
            };
            const auto r = co_await as_result(client.get(peer.url()).full());
            EXPECT_TRUE(r) << r.error();
            if (!r) co_return;
            EXPECT_TRUE(r->header("x") == value);
            EXPECT_EQ(client.statistics().connections, 1U);
        },
        {}, o, 1);
}

TEST(client_h2, takes_a_few_pings_now_and_then_whatever_their_limit) {
    http::pool_options p;
    p.h2.limits.pings = 5;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            for (int i = 0; i != 3; ++i) {
                const auto r = co_await client.get(peer.url()).full();
                EXPECT_EQ(r.status, http::status::ok);
                for (int k = 0; k != 7; ++k) {
                    peer.connections.back()->send_raw(
                        frame(http::h2::frame_type::ping, 0, 0, "12345678"));
                    co_await sleep_for(2s);
                }
            }
            EXPECT_EQ(peer.connections.size(), 1U);
        },
        p, over_h2(), 1);
}

TEST(client_h2, counts_interim_responses) {
    for (const int interim : {16, 17}) {
        with_peer([interim](h2_script_server& peer, http::client& client) -> task<> {
            peer.on_end = [interim](connection& c, request& r) {
                for (int i = 0; i != interim; ++i) c.respond(r, 102, {}, {}, false);
                c.respond(r, "late");
            };
            const auto r = co_await as_result(client.get(peer.url()).full());
            EXPECT_EQ(client.statistics().h2.interim_responses, interim == 16 ? 0U : 1U);
            EXPECT_EQ(r.has_value(), interim == 16);
            if (r) co_return;
            EXPECT_EQ(r.error(), errc::limit_exceeded) << r.error();
            EXPECT_NE(r.error().subject().find("client_options::interim_limit"),
                      std::string_view::npos)
                << r.error();
        });
    }
}

TEST(client_h2, keeps_to_the_limits_of_a_head_that_a_call_has) {
    with_peer([](h2_script_server& peer, http::client& client) -> task<> {
        const std::vector<http::field> fields(150, {"a", "1"});
        peer.on_end = [&fields](connection& c, request& r) { c.respond(r, 200, fields); };
        EXPECT_FALSE(co_await as_result(client.get(peer.url()).full()));
        http::client_options o = client.defaults();
        o.field_limit = 200;
        EXPECT_TRUE(co_await as_result(client.get(peer.url()).options(o).full()));
        client.set_defaults(o);
        EXPECT_TRUE(co_await as_result(client.get(peer.url()).full()));
    });
}

TEST(client_h2, keeps_to_the_limits_of_a_head) {
    http::client_options o = over_h2();
    o.field_limit = 5;
    o.head_limit = 1000;
    with_peer(
        [](h2_script_server& peer, http::client& client) -> task<> {
            std::vector<http::field> fields(5, {"a", "1"});
            peer.on_end = [&fields](connection& c, request& r) { c.respond(r, 200, fields); };
            EXPECT_TRUE(co_await as_result(client.get(peer.url()).full()));
            fields.push_back({"f", "1"});
            const auto many = co_await as_result(client.get(peer.url()).full());
            EXPECT_EQ(many.error(), errc::limit_exceeded);
            EXPECT_THAT(many.error().message(), HasSubstr("client_options::field_limit"));
            const std::string large(1000, 'x');
            fields.assign(1, {"a", large});
            const auto bytes = co_await as_result(client.get(peer.url()).full());
            EXPECT_EQ(bytes.error(), errc::limit_exceeded);
            EXPECT_THAT(bytes.error().message(), HasSubstr("client_options::head_limit"));
            // A limit that cost one stream is no reason for the end of the connection.
            peer.on_end = [](connection& c, request&) {
                c.send_raw(frame(http::h2::frame_type::data, 0, 77, "x"));
            };
            const auto lost = co_await as_result(client.get(peer.url()).full());
            EXPECT_FALSE(lost);
            const std::string why = lost ? "" : lost.error().message();
            EXPECT_THAT(why, Not(HasSubstr("h2_limits")));
        },
        {}, o);
}

}  // namespace
}  // namespace coracle::testing
